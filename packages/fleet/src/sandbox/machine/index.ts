/** Agents in virtual machines. Loaded by the first agent at this isolation level, and by nothing else. */

export { machineEnd } from './machine-end.ts'
export { machineOptions } from './machine-options.ts'
export { createMachines } from './machines.ts'
export type { MachineBase, Machines, MachinesOptions } from './machines.ts'
export type { MachineGround } from './machine-plan.ts'
export { holdMachine, readMachineDisk, releaseMachine } from './read-machine.ts'
export { probeMachine } from './try-machine.ts'
