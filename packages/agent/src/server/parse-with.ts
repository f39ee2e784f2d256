import { Problem } from '@flotilla/protocol/problem'

interface Issue {
  readonly code?: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
  readonly expected?: unknown
}

/** The used part of a contract's schema; the schema library itself belongs to the contract. */
export interface Parser<T> {
  safeParse(
    value: unknown,
  ): { success: true; data: T } | { success: false; error: { issues: readonly Issue[] } }
}

const issuesShownMax = 5

/** The parsed value, or the Problem `bad-request` that names each invalid field. */
export function parseWith<T>(schema: Parser<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.slice(0, issuesShownMax).map(describeIssue)
  throw new Problem('bad-request', { detail: faults.join('; ') })
}

function describeIssue(issue: Issue): string {
  const field = issue.path.length === 0 ? 'the body' : issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') return `${field}: unknown field ${(issue.keys ?? []).join(', ')}`
  if (issue.code === 'invalid_type') return `${field}: expected ${String(issue.expected)}`
  return `${field}: ${issue.message} (${issue.code ?? 'invalid'})`
}
