/** The condition language of `when`. */

export { conditionHolds } from './condition.ts'
export type { Condition } from './condition.ts'
export { parseCondition } from './parse-condition.ts'
