import { parse } from 'acorn'
import type { Program } from 'acorn'
import { limits } from '@flotilla/protocol/limits'
import { checkImports } from './check-imports.ts'
import { checkNames } from './check-names.ts'
import { readDefinition } from './read-definition.ts'
import type { SkillDefinition } from './read-definition.ts'
import { createFaults } from './skill-fault.ts'
import type { SkillFault } from './skill-fault.ts'
import { javascriptOf } from './javascript-of.ts'

export type SkillVerdict =
  | { readonly ok: true; readonly definition: SkillDefinition; readonly code: string }
  | { readonly ok: false; readonly faults: readonly SkillFault[] }

/**
 * Checks whether a source in TypeScript or JavaScript may become a skill. Types are stripped first, so that the
 * checked code is the code that runs: `code`, with unchanged lines and columns. Never throws. Pure.
 */
export function checkSkill(source: string): SkillVerdict {
  if (source.length > limits.skillSourceMaxChars) {
    const message = `the source has ${source.length} characters; at most ${limits.skillSourceMaxChars} are allowed`
    return refuse({ line: 1, column: 1, rule: 'too-long', message })
  }
  const parsed = parseSource(source)
  if ('fault' in parsed) return refuse(parsed.fault)
  const { program, code } = parsed
  const faults = createFaults()
  checkImports(program, faults)
  checkNames(program, faults, (name) => Object.hasOwn(globalThis, name))
  const definition = readDefinition(program, faults)
  const list = faults.list()
  return definition && list.length === 0 ? { ok: true, definition, code } : { ok: false, faults: list }
}

function refuse(fault: SkillFault): SkillVerdict {
  return { ok: false, faults: [fault] }
}

function parseSource(
  source: string,
): { readonly program: Program; readonly code: string } | { readonly fault: SkillFault } {
  try {
    const code = javascriptOf(source)
    const program = parse(code, { ecmaVersion: 'latest', sourceType: 'module', locations: true })
    return { program, code }
  } catch (error) {
    const { line, column } = positionOf(error)
    const message = error instanceof Error ? error.message.slice(0, 500) : 'the source cannot be parsed'
    return { fault: { line, column, rule: 'syntax', message } }
  }
}

/** Finds the position of an error, which Acorn reports as fields and the type stripper reports in its message. */
function positionOf(error: unknown): { line: number; column: number } {
  const place: unknown = Reflect.get(Object(error), 'loc')
  if (typeof place === 'object' && place !== null && 'line' in place && 'column' in place) {
    return { line: Number(place.line), column: Number(place.column) + 1 }
  }
  return { line: 1, column: 1 }
}
