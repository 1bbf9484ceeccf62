import { DurableObject } from "cloudflare:workers";

export class Room extends DurableObject {
  async fetch(request) {
    if (request.headers.get("upgrade") !== "websocket") return new Response("open a WebSocket", { status: 426 });
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    server.serializeAttachment({ name: new URL(request.url).searchParams.get("name") });
    return new Response(null, { status: 101, webSocket: client });
  }

  async webSocketMessage(socket, text) {
    const number = ((await this.ctx.storage.get("last")) ?? 0) + 1;
    const message = { number, from: socket.deserializeAttachment().name, text };
    await this.ctx.storage.put({ last: number, [`message ${number}`]: message });
    for (const member of this.ctx.getWebSockets()) member.send(JSON.stringify(message));
  }

  async webSocketClose(socket, code) {
    if (code !== 1006) socket.close(1000, "bye");
  }
}

export default {
  async fetch(request, env) {
    return env.ROOM.getByName("lobby").fetch(request);
  },
};
