// Bindings that do what the local runtime does, without a service.
import natives from "thunderhead:natives";

// Data points are taken and go nowhere that a Worker could read.
export class AnalyticsEngineDataset {
  writeDataPoint() {}
}

// Counts the calls of a key in windows of time. Every isolate counts for itself, as every location does on the platform.
export class RateLimit {
  #limit;
  #period;
  #windows = new Map();
  constructor(limit, period) {
    this.#limit = limit;
    this.#period = period * 1000;
  }
  async limit({ key }) {
    const window = Math.floor(natives.now() / this.#period);
    const known = this.#windows.get(String(key));
    const count = known?.window === window ? known.count + 1 : 1;
    this.#windows.set(String(key), { window, count });
    return { success: count <= this.#limit };
  }
}
