// `node:perf_hooks`: the clock of the simulation.
import { performance } from "thunderhead:time";

export class PerformanceObserver {
  observe() {}
  disconnect() {}
}
export const constants = {};
export { performance };
export default { performance, PerformanceObserver, constants };
