/** Limits how much of the mesh external input may use before it is processed. */

export { agentShareLimits } from './agent-share-limits.ts'
export { createAgentShares } from './agent-shares.ts'
export { createFairShare, hasRoom } from './fair-share.ts'
export type { RowBounds, ShareBounds, ShareFull } from './fair-share.ts'
export { createOpenPlaces } from './open-places.ts'
export type { OpenPlaces } from './open-places.ts'
export type { HeldBytes } from './held-bytes.ts'
export { afterText, measureJson } from './measure-json.ts'
export type { LoopShare, StepWork } from './loop-share.ts'
export { createLoopTurns } from './loop-turns.ts'
export { endingAtFirst, parseFirst } from './parse-first.ts'
export { readJson, readJsonAsWritten, readJsonBody, readJsonExactly, readJsonQuietly } from './read-json.ts'
