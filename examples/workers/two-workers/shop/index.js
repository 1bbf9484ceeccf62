export default {
  async fetch(request, env) {
    const order = await request.json();
    const left = await env.STOCK.reserve(order.product, order.id, order.amount);
    await env.ORDERS.put(order.id, JSON.stringify(order));
    return Response.json({ left }, { status: 201 });
  },
};
