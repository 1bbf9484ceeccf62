// `node:perf_hooks`: the clock of the simulation.
import { performance } from "thunderhead:time";

export class PerformanceObserver {
  observe() {}
  disconnect() {}
}
export const constants = {};
// No time passes while a Worker runs.
export const eventLoopUtilization = () => ({ idle: 0, active: 0, utilization: 0 });
export const timerify = (work) => work;
export { performance };
export default { performance, PerformanceObserver, constants, eventLoopUtilization, timerify };
