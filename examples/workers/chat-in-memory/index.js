import { DurableObject } from "cloudflare:workers";

export class Room extends DurableObject {
  names = new Map();
  last = 0;

  async fetch(request) {
    if (request.headers.get("upgrade") !== "websocket") return new Response("open a WebSocket", { status: 426 });
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    this.names.set(server, new URL(request.url).searchParams.get("name"));
    return new Response(null, { status: 101, webSocket: client });
  }

  async webSocketMessage(socket, text) {
    const message = { number: ++this.last, from: this.names.get(socket) ?? "nobody", text };
    await this.ctx.storage.put(`message ${message.number}`, message);
    for (const member of this.ctx.getWebSockets()) member.send(JSON.stringify(message));
  }

  async webSocketClose(socket) {
    this.names.delete(socket);
  }
}

export default {
  async fetch(request, env) {
    return env.ROOM.getByName("lobby").fetch(request);
  },
};
