// The functions of the host. They are gone from the global object before the program runs.
export default globalThis.__thunderhead;
