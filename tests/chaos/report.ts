import { ownEnds } from './checks/check-ends.ts'
import type { Finding } from './facts.ts'
import type { ChaosOptions, ChaosReport } from './run-chaos.ts'
import type { MeshInstance } from './supervise-mesh.ts'
import { stepNames } from './steps.ts'

/** Findings of one check that are shown in full. */
const shownMax = 5

/** Formats the findings of one stage with their evidence. Pure. */
export function formatFindings({ findings, options, keptHome }: ChaosReport): string {
  if (findings.length === 0) return 'Nothing was found wrong.'
  const byCheck = [...Map.groupBy(findings, ({ check }) => check)]
  const table = byCheck.map(([check, found]) => `  ${check.padEnd(24)} ${String(found.length).padStart(4)}`)
  return [
    'FOUND',
    ...table,
    '',
    ...byCheck.flatMap(([, found]) => tellCheck(found)),
    `The same plan again: ${commandOf(options)}`,
    ...(keptHome === null ? [] : [`The home is kept: ${keptHome}`]),
  ].join('\n')
}

function commandOf({ runtime, seed, runs }: ChaosOptions): string {
  switch (runtime) {
    case 'process':
      return `npm run chaos -- --seed ${seed} --runs ${runs} --containers 0`
    case 'docker':
      return `npm run chaos -- --seed ${seed} --runs 0 --containers ${runs}`
    case 'kubernetes':
      return `npm run test:kubernetes -- --chaos --seed ${seed} --runs ${runs}`
  }
}

function tellCheck(found: readonly Finding[]): string[] {
  const shown = found.slice(0, shownMax)
  const more = found.length - shown.length
  return [
    ...shown.flatMap(({ check, what, evidence }) => [
      `${check}: ${what}`,
      ...evidence.map((line) => `    ${line}`),
    ]),
    ...(more > 0 ? [`    ... and ${more} more`] : []),
  ]
}

/** Formats what was done, so that a clean result shows how much it covers. Pure. */
export function formatCoverage({ facts, instances, counts, seconds }: ChaosReport): string {
  const states = countBy(facts.runs.map(({ state, outcome }) => outcome?.code ?? state))
  const told = stepNames
    .map((name) => {
      const made = facts.calls.filter(({ step }) => step === name)
      return `${name} ${made.filter((call) => call.told === 'done').length}/${made.length}`
    })
    .join(', ')
  const { ready, refused, broken } = ownEnds(instances)
  const others = facts.calls.filter((call) => call.told !== 'done' && call.words !== '')
  return [
    `${facts.runs.length} runs (${states}) in ${seconds.toFixed(0)} s and ${instances.length} instances of the mesh, ${ready.length} of which ended by themselves; ${refused.length} further starts found no room, and ${broken.length} failed`,
    `killed: the mesh ${counts.mesh} times, ${counts.inStart} of them while it started; agents ${counts.agents} times, put to sleep ${counts.asleep} times${disturbedWords(counts.disturbed)}`,
    `calls told as done, of those made: ${told}`,
    `told otherwise: ${countBy(others.map(({ words }) => words.replace(/^Error \(([a-z-]+)\)[^]*$/, '$1').slice(0, 40)))}`,
    `${facts.tasks.length} tasks, ${facts.messages.length} messages, ${facts.steers.length} steers, ${facts.firings.length} firings and deliveries, ${facts.billed.length} answers of the model, ${facts.money.spend.length} rows of money`,
  ].join('\n')
}

function disturbedWords(disturbed: Readonly<Record<string, number>>): string {
  return Object.entries(disturbed)
    .map(([name, times]) => `; ${name} ${times} times`)
    .join('')
}

function countBy(names: readonly string[]): string {
  return [...Map.groupBy(names, (name) => name)].map(([name, all]) => `${all.length} ${name}`).join(', ')
}

/** Formats how long a killed mesh takes until it is ready again, and in which parts. Pure. */
export function formatReadyTimes(instances: readonly MeshInstance[]): string {
  const ready = instances.filter((instance) => instance.killedBeforeAt !== null && instance.readyAt !== null)
  const totals = ready.map((instance) => (instance.readyAt ?? 0) - (instance.killedBeforeAt ?? 0))
  if (totals.length === 0) return 'No killed mesh became ready again.'
  const parts = new Map<string, number[]>()
  for (const instance of ready) {
    for (const [name, ms] of partsOf(instance)) parts.set(name, [...(parts.get(name) ?? []), ms])
  }
  return [
    `From kill -9 to ready, ${totals.length} times: median ${seconds(quantile(totals, 0.5))}, p90 ${seconds(quantile(totals, 0.9))}, longest ${seconds(Math.max(...totals))}`,
    ...[...parts].map(
      ([name, all]) =>
        `  until "${name}"`.padEnd(66) +
        `median ${seconds(quantile(all, 0.5))}  p90 ${seconds(quantile(all, 0.9))}`,
    ),
  ].join('\n')
}

/**
 * Splits a start into the parts that the mesh reports itself, then from one log line to the next. Each part has the
 * text of the line that ends it.
 */
function partsOf(instance: MeshInstance): [string, number][] {
  const from = instance.killedBeforeAt ?? instance.startedAt
  const own = instance.lines.find(({ said }) => said['msg'] === 'the mesh is ready and accepts work')?.said
  const loadedMs = Number(own?.['loadedMs'] ?? 0)
  const composedMs = Number(own?.['composedMs'] ?? 0)
  const parts: [string, number][] = own
    ? [
        ['its modules are loaded', instance.startedAt - from + loadedMs],
        ['home and database are open', composedMs - loadedMs],
      ]
    : []
  let before = own ? instance.startedAt + composedMs : from
  for (const { at, said } of instance.lines) {
    const name = said['ready'] === true ? 'ready' : (said['progress'] ?? said['msg'])
    if (
      typeof name !== 'string' ||
      name === 'the mesh is ready and accepts work' ||
      at < before ||
      at > (instance.readyAt ?? 0)
    )
      continue
    parts.push([name.slice(0, 46), at - before])
    before = at
  }
  return parts
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`
}
