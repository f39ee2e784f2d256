import type { LicenceCount } from './count-licences.ts'

export interface AnswerCheck {
  readonly right: boolean
  /** The searched facts, one line each, and whether the answer contains them. */
  readonly facts: readonly { readonly fact: string; readonly found: boolean }[]
}

/** The maximum distance between a licence and its number, in characters. */
const nearChars = 60

/**
 * Whether an answer, in any wording, contains the facts: the number of dependencies, and each licence that is
 * not permissive with its number near it. Pure.
 */
export function checkAnswer(answer: string, expected: LicenceCount): AnswerCheck {
  const text = answer.replace(/(\d)[,\u202F\u00A0 ](\d{3})(?!\d)/g, '$1$2')
  const facts = [
    { fact: `${expected.total} dependencies`, found: hasNumber(text, expected.total) },
    ...[...expected.notPermissive].map(([licence, packages]) => ({
      fact: `${licence}: ${packages.length} (not permissive)`,
      found: hasNear(text, licence, packages.length),
    })),
    ...(expected.notPermissive.size === 0
      ? [{ fact: 'every licence is permissive', found: /\b(?:none|no|all|every)\b/i.test(text) }]
      : []),
  ]
  return { right: facts.every((fact) => fact.found), facts }
}

function hasNumber(text: string, value: number): boolean {
  return new RegExp(`(?<![\\d.])${value}(?![\\d]|\\.\\d)`).test(text)
}

function hasNear(text: string, name: string, value: number): boolean {
  const lower = text.toLowerCase()
  const lowerName = name.toLowerCase()
  for (let at = lower.indexOf(lowerName); at !== -1; at = lower.indexOf(lowerName, at + 1)) {
    const around = `${text.slice(Math.max(0, at - nearChars), at)} ${text.slice(at + lowerName.length, at + lowerName.length + nearChars)}`
    if (hasNumber(around, value)) return true
  }
  return false
}
