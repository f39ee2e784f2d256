import { sections } from './requirements/clause.ts'

/**
 * A clause as the check reads it; the type is looser than that of the clauses, so that tests can contain every
 * mistake.
 */
export interface LedgerClause {
  readonly id: string
  readonly section: string
  readonly text: string
  readonly state?: string
  readonly why?: string
  readonly decision?: string
  readonly decided?: string
  readonly by?: string
}

/** One id named by a `verifies` or `heedsLesson` call; `at` is `file:line`. */
export interface Citation {
  readonly id: string
  readonly at: string
}

export interface CoverageFacts {
  readonly clauses: readonly LedgerClause[]
  readonly citations: readonly Citation[]
  /** `file:line` of such calls whose arguments are not plain literals. */
  readonly unreadable: readonly string[]
  /** Paths of the existing decision files, from the root of the repository. */
  readonly decisionFiles: ReadonlySet<string>
  /** Sections of the documents, such as 'docs/reference/triggers.md#cron'. */
  readonly documentSections: ReadonlySet<string>
}

export interface CoverageRow {
  readonly section: string
  readonly covered: number
  readonly planned: number
  readonly outside: number
  readonly deviates: number
  readonly total: number
}

export interface CoverageReport {
  readonly rows: readonly CoverageRow[]
  readonly total: CoverageRow
  /** One sentence for each contradiction; empty when clauses and tests agree. */
  readonly offenders: readonly string[]
}

const stateNames: readonly string[] = ['covered', 'planned', 'outside', 'deviates']
const datedDecision =
  /^docs\/decisions\/\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])-[a-z0-9]+(?:-[a-z0-9]+)*\.md$/

/** Compares the clauses with the citations of the tests and the decisions in the documents. */
export function coverageReport(facts: CoverageFacts): CoverageReport {
  return {
    rows: sections.map((section) =>
      countStates(
        section,
        facts.clauses.filter((clause) => clause.section === section),
      ),
    ),
    total: countStates('total', facts.clauses),
    offenders: [
      ...citationOffenders(facts),
      ...duplicateOffenders(facts.clauses),
      ...facts.clauses.flatMap((clause) => stateOffenders(clause)),
      ...facts.clauses.flatMap((clause) => testOffenders(clause, facts.citations)),
      ...facts.clauses.flatMap((clause) => decisionOffenders(clause, facts.decisionFiles)),
      ...facts.clauses.flatMap((clause) => decidedOffenders(clause, facts.documentSections)),
    ],
  }
}

function countStates(section: string, clauses: readonly LedgerClause[]): CoverageRow {
  const count = (state: string): number => clauses.filter((clause) => clause.state === state).length
  return {
    section,
    covered: count('covered'),
    planned: count('planned'),
    outside: count('outside'),
    deviates: count('deviates'),
    total: clauses.length,
  }
}

function citationOffenders(facts: CoverageFacts): readonly string[] {
  const known = new Set(facts.clauses.map((clause) => clause.id))
  return [
    ...facts.unreadable.map(
      (at) => `${at}: what a test cites is given as plain literals only, since it is read from the source`,
    ),
    ...facts.citations
      .filter((citation) => !known.has(citation.id))
      .map((citation) => `${citation.at}: ${citation.id} is cited, but no clause has this id`),
  ]
}

function duplicateOffenders(clauses: readonly LedgerClause[]): readonly string[] {
  const timesById = new Map<string, number>()
  for (const { id } of clauses) timesById.set(id, (timesById.get(id) ?? 0) + 1)
  return [...timesById]
    .filter(([, times]) => times > 1)
    .map(([id, times]) => `${id}: ${times} clauses have this id; each needs one of its own`)
}

function stateOffenders(clause: LedgerClause): readonly string[] {
  const { state, why, decision } = clause
  const found: string[] = []
  if (state === undefined || !stateNames.includes(state)) {
    found.push(`${clause.id}: in none of the states ${stateNames.join(', ')}`)
  }
  if (why !== undefined && state !== 'outside') {
    found.push(`${clause.id}: in two states, ${state ?? 'none'} by its state and outside by its why`)
  }
  if (decision !== undefined && state !== 'deviates') {
    found.push(`${clause.id}: in two states, ${state ?? 'none'} by its state and deviates by its decision`)
  }
  if (state === 'outside' && !why?.trim()) found.push(`${clause.id}: outside, but no why says whose it is`)
  return found
}

function testOffenders(clause: LedgerClause, citations: readonly Citation[]): readonly string[] {
  const citing = citations.find((citation) => citation.id === clause.id)
  if (clause.state === 'covered' && citing === undefined) {
    return [`${clause.id}: covered, but no test cites it`]
  }
  if (clause.state === 'planned' && citing !== undefined) {
    return [`${clause.id}: planned, but ${citing.at} cites it; mark it covered (npm run spec -- --mark)`]
  }
  return []
}

function decisionOffenders(clause: LedgerClause, files: ReadonlySet<string>): readonly string[] {
  if (clause.state !== 'deviates') return []
  const { id, decision } = clause
  if (decision === undefined) return [`${id}: deviates, but names no decision`]
  if (!datedDecision.test(decision)) return [`${id}: ${decision} is not docs/decisions/YYYY-MM-DD-title.md`]
  return files.has(decision) ? [] : [`${id}: the decision ${decision} does not exist`]
}

function decidedOffenders(clause: LedgerClause, known: ReadonlySet<string>): readonly string[] {
  const { id, decided } = clause
  if (decided === undefined) {
    return /\bnot shown\b/.test(clause.text)
      ? [`${id}: the specification does not show this, and no decided says where it is chosen`]
      : []
  }
  return known.has(decided) ? [] : [`${id}: ${decided} is not a section of a document`]
}
