// What programs use and the simulation does not have: each says so by its name when it is used.
export const refusing = (name) =>
  class {
    constructor() {
      throw new Error(`${name} is not simulated.`);
    }
  };

export const missing = { EventSource: refusing("EventSource") };
