import { storm } from "thunderhead";

type Seat = { seat: string; holder: string };

export default storm({
  workload({ rng, client }) {
    for (let i = rng.int(1, 3); i > 0; i--) {
      client.post("/reservations", { seat: rng.pick(["A1", "A2"]), holder: rng.pick(["ann", "bob"]) });
      client.sleep(rng.pick([0, 3, 40, 1_000]));
    }
    client.afterwards();
    client.get("/reservations");
  },

  // The service that sends mails. When it is not well, it says so.
  outside: {
    "mail.example.com": (request, mood) =>
      mood === "failing" ? new Response("try later", { status: 503 }) : Response.json({ sent: true }, { status: 202 }),
  },

  always: {
    "a seat has one holder": ({ rows }) => {
      const seats = rows<Seat>("reservations").map((row) => row.seat);
      const twice = seats.find((seat, at) => seats.indexOf(seat) !== at);
      return twice === undefined || `${twice} is reserved twice`;
    },
  },

  eventually: {
    "what was confirmed is listed": ({ requests }) => {
      const listed = requests.findLast((one) => one.method === "GET" && one.status === 200)?.json<Seat[]>();
      if (!listed) return true;
      const confirmed = requests.filter((one) => one.status === 201).map((one) => JSON.parse(one.body) as Seat);
      const missing = confirmed.find((one) => !listed.some((row) => row.seat === one.seat && row.holder === one.holder));
      return missing === undefined || `${missing.holder} was told to have ${missing.seat}, and does not`;
    },
  },

  sometimes: {
    "two ask for one seat": ({ requests }) => {
      const asked = requests.filter((one) => one.method === "POST").map((one) => JSON.parse(one.body) as Seat);
      return asked.some((one) => asked.some((other) => other.seat === one.seat && other.holder !== one.holder));
    },
  },
});
