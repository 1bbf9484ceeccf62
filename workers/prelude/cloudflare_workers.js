// What a program imports from `cloudflare:workers`.
export { env } from "thunderhead:bindings";
export { exports, waitUntil } from "thunderhead:entry";
export { RpcPromise, RpcStub, RpcTarget } from "thunderhead:rpc";

class Entrypoint {
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }
}

export class DurableObject extends Entrypoint {}
export class WorkerEntrypoint extends Entrypoint {}
export class WorkflowEntrypoint extends Entrypoint {}
