// Types for `storm.ts`, written by `thunderhead types`.
declare module "thunderhead" {
  /** Numbers that depend on the seed of the run and on nothing else. */
  export interface Rng {
    /** A whole number from `least` to `most`, both included. */
    int(least: number, most: number): number;
    /** One of the items. */
    pick<T>(items: readonly T[]): T;
    /** True in so many of a hundred cases; 50 when it is not said. */
    chance(percent?: number): boolean;
  }

  export interface RequestOptions {
    headers?: Record<string, string>;
  }

  /** Writes down what clients send. Requests without a `sleep` between them are sent at once and race. */
  export interface Client {
    request(method: string, path: string, options?: RequestOptions & { body?: string; json?: unknown }): void;
    get(path: string, body?: undefined, options?: RequestOptions): void;
    head(path: string, body?: undefined, options?: RequestOptions): void;
    /** A body that is no text is sent as JSON. */
    post(path: string, body?: unknown, options?: RequestOptions): void;
    put(path: string, body?: unknown, options?: RequestOptions): void;
    patch(path: string, body?: unknown, options?: RequestOptions): void;
    delete(path: string, body?: unknown, options?: RequestOptions): void;
    /** The cron trigger fires. */
    scheduled(cron: string): void;
    /** A message comes by mail. Its sender tries again when it gets no answer. */
    email(message: { from: string; to: string; headers?: Record<string, string>; text?: string }): void;
    /** A message comes to a queue that the Worker consumes: JSON, or a text as it is. */
    queue(name: string, message: unknown): void;
    /** What follows is sent that much later: milliseconds, or `"3s"`. */
    sleep(time: number | string): void;
    /** What follows is sent two hours later, when the storm is over and everything is at rest. */
    afterwards(): void;
  }

  /** A request of a client. One that was tried again is there once for every try. */
  export interface Exchange {
    readonly method: string;
    readonly path: string;
    readonly body: string;
    /** When it was sent, in milliseconds since 1970. */
    readonly at: number;
    /** Null when it was not answered. */
    readonly status: number | null;
    readonly answer: string | null;
    /** The answer, read as JSON. */
    json<T = any>(): T;
  }

  export interface Stored {
    readonly key: string;
    readonly text: string;
    json<T = any>(): T;
  }

  /** What a promise sees of a run. */
  export interface View {
    /** The rows of a table of D1 or of objects; an owner is `d1`, or `BINDING:name` of an object. */
    rows<Row = Record<string, any>>(table: string, owner?: string): Row[];
    /** What a bucket holds. */
    objects(bucket: string): Stored[];
    /** What a namespace of KV holds, by the id of the namespace. */
    values(namespace: string): Record<string, string>;
    readonly requests: readonly Exchange[];
    /** What hosts outside were asked and have answered. */
    readonly outside: readonly { method: string; url: string; body: string; status: number }[];
    readonly workflows: readonly {
      workflow: string;
      id: string;
      status: "running" | "complete" | "errored" | "terminated" | "deleted";
    }[];
  }

  /** False, or a sentence that says what is wrong, breaks the promise. So does an error. */
  export type Judgement = boolean | string | void | Promise<boolean | string | void>;

  /** A host outside is `fine` unless the storm says otherwise; one that is `slow` answers 20 seconds later. */
  export type Mood = "fine" | "slow" | "failing" | "limited";

  export interface Storm {
    /** What is sent in a run; without it, the requests of `storm.http`. */
    workload?(given: { rng: Rng; client: Client }): void | Promise<void>;
    /** What hosts outside answer, by their names; `*` is any other. */
    outside?: Record<string, (request: Request, mood: Mood) => Response | Promise<Response>>;
    /** Columns that are not compared with the calm, as `table.column`, and promises that are not judged, by name. */
    ignore?: string[];
    /** Holds whenever something has changed. */
    always?: Record<string, (view: View) => Judgement>;
    /** Holds in the end, when the storm is over and everything is at rest. */
    eventually?: Record<string, (view: View) => Judgement>;
    /** Is seen in some run of a search: it proves that the search tests something. */
    sometimes?: Record<string, (view: View) => boolean | Promise<boolean>>;
  }

  export function storm(described: Storm): Storm;
}
