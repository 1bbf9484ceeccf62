interface Env {
  DB: D1Database;
}

interface Reservation {
  seat: string;
  holder: string;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method === "GET") {
      const { results } = await env.DB.prepare("SELECT seat, holder FROM reservations").all<Reservation>();
      return Response.json(results);
    }
    const { seat, holder } = await request.json<Reservation>();
    const insert = env.DB.prepare("INSERT INTO reservations (seat, holder) VALUES (?, ?) ON CONFLICT DO NOTHING");
    await insert.bind(seat, holder).run();
    const row = await env.DB.prepare("SELECT seat, holder FROM reservations WHERE seat = ?").bind(seat).first<Reservation>();
    if (row?.holder !== holder) return new Response("taken", { status: 409 });
    await confirm(row);
    return new Response("reserved", { status: 201 });
  },
};

// The seat is reserved whether or not the mail can be sent.
async function confirm({ seat, holder }: Reservation): Promise<void> {
  const body = JSON.stringify({ to: holder, text: `You have seat ${seat}.` });
  try {
    await fetch("https://mail.example.com/send", { method: "POST", body });
  } catch (error) {
    console.error("no mail", error);
  }
}
