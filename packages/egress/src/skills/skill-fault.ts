import type { Node } from 'acorn'

/** One error that keeps a source from being a skill: its position and the repair. */
export interface SkillFault {
  /** Line number, from 1. */
  readonly line: number
  /** Column number, from 1. */
  readonly column: number
  readonly rule:
    | 'too-long'
    | 'syntax'
    | 'forbidden-import'
    | 'forbidden-call'
    | 'forbidden-attribute'
    | 'computed-access'
    | 'unknown-name'
    | 'declaration'
  readonly message: string
}

/** The maximum number of reported faults; the first ones should be repaired first. */
export const faultsMax = 20

export interface Faults {
  add(node: Node, rule: SkillFault['rule'], message: string): void
  list(): readonly SkillFault[]
}

export function createFaults(): Faults {
  const found: SkillFault[] = []
  return {
    add: (node, rule, message) => {
      const { line, column } = node.loc?.start ?? { line: 1, column: 0 }
      if (found.length < faultsMax) found.push({ line, column: column + 1, rule, message })
    },
    list: () => found,
  }
}
