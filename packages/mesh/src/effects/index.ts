/** Calls of agents that change something: each once, whatever happens to the line. */

export { createEffectOnce, outcomeUnknown } from './effect-once.ts'
export type { EffectOnce, EffectStep, OutsideLine } from './effect-once.ts'
