/** What an owner writes as `when`. */

export { conditionHolds } from './condition.ts'
export type { Condition } from './condition.ts'
export { parseCondition } from './parse-condition.ts'
