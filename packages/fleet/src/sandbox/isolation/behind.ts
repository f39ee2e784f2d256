import type { GvisorGround } from '../hardening/container-options.ts'
import type { MachineGround } from '../machine/index.ts'

/** What separates an agent from this machine's kernel, in addition to the settings of every container. */
export type Behind =
  | { readonly rung: 'container' }
  | { readonly rung: 'gvisor'; readonly gvisor: GvisorGround }
  | { readonly rung: 'microvm'; readonly machine: MachineGround }
