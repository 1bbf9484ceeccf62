// The functions of the host. They are gone from the global object before the program runs.
const natives = globalThis.__thunderhead;

// Half a pair of surrogates has no bytes.
const { encode } = natives;
natives.encode = (text) => encode(text.isWellFormed() ? text : text.toWellFormed());

export default natives;
