/** Calls of agents that change something; each is carried out once, even if the connection breaks. */

export { createEffectOnce, outcomeUnknown } from './effect-once.ts'
export type { EffectOnce, EffectStep, OutsideLine } from './effect-once.ts'
