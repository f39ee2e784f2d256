import { carrierLabels } from './carriers.ts'
import type { CarrierName } from './carriers.ts'
import { kindOf } from './gateway-measurement.ts'
import type { LoadName, Measured, Refusals } from './gateway-measurement.ts'
import { median, pairedRatio, percentile } from './statistics.ts'
import { figure, ratio } from './table.ts'
import type { Table } from './table.ts'

interface Findings {
  readonly measured: readonly Measured[]
  readonly refusals: Refusals
  readonly pinned: boolean
  readonly accounts: string
  readonly commitMs: readonly number[]
}

const plainCarriers: readonly CarrierName[] = ['direct', 'pipe', 'gateway', 'responses', 'contents', 'rival']
const streamCarriers: readonly CarrierName[] = [...plainCarriers, 'mended']

/** Tables for plain calls, then for streams; each first with one call at a time, then at the highest rate. Pure. */
export function gatewayTables(findings: Findings): readonly Table[] {
  const place = findings.pinned
    ? 'Fake upstream and load generator share one core; each contender has the other one to itself.'
    : 'The processes share the cores as the scheduler likes: this machine lets us pin none.'
  const guards = `The gateway ran with policy, run ticket, budget reservation and settlement and a database on disk; it accounted for ${findings.accounts}.`
  const disk = `A durable commit of one row takes this disk ${figure(median(findings.commitMs), 2)} ms (p99 ${figure(percentile(findings.commitMs, 99), 2)}); no other contender writes anything down.`
  return [
    latencyTable(findings, {
      title: 'Model gateway: a plain call, one at a time (10 KB request)',
      load: 'plain-one',
      times: ({ result }) => result.totalMs,
      notes: [
        'ms to the last byte; "added" is over the same call without a proxy, the median of the rounds; p99 is over the calls of all rounds.',
        place,
        guards,
        disk,
      ],
    }),
    rateTable(findings, { title: 'Model gateway: plain calls, 32 connections', load: 'plain-many' }),
    latencyTable(findings, {
      title: 'Model gateway: first streamed byte, one at a time (50 pieces)',
      load: 'stream-one',
      times: ({ result }) => result.firstBodyByteMs,
      notes: ['ms to the first byte of the body.'],
    }),
    rateTable(findings, {
      title: 'Model gateway: streams of 50 pieces, 32 connections',
      load: 'stream-many',
    }),
  ]
}

interface LatencyAsked {
  readonly title: string
  readonly load: LoadName
  readonly times: (measured: Measured) => readonly number[]
  readonly notes: readonly string[]
}

function latencyTable(findings: Findings, asked: LatencyAsked): Table {
  const rounds = (carrier: CarrierName) => roundsOf(findings, carrier, asked.load).map(asked.times)
  const direct = rounds('direct')
  const added = (carrier: CarrierName) =>
    median(rounds(carrier).map((times, round) => median(times) - median(direct[round] ?? [])))
  const p99 = (carrier: CarrierName) => percentile(rounds(carrier).flat(), 99)
  return {
    title: asked.title,
    columns: ['', 'median', 'p99', 'added median', 'added p99', 'of the pipe', 'calls'],
    rows: carriersOf(asked.load).map((carrier) => {
      const all = rounds(carrier).flat()
      const times = [figure(median(all), 3), figure(p99(carrier), 2)]
      if (carrier === 'direct') return [carrierLabels[carrier], ...times, '-', '-', '-', String(all.length)]
      return [
        carrierLabels[carrier],
        ...times,
        figure(added(carrier), 3),
        figure(p99(carrier) - p99('direct'), 2),
        ratio(added(carrier) / added('pipe')),
        String(all.length),
      ]
    }),
    notes: [...asked.notes, ...failureNotes(findings, asked.load)],
  }
}

function rateTable(findings: Findings, asked: { readonly title: string; readonly load: LoadName }): Table {
  const { load } = asked
  const rates = (carrier: CarrierName) =>
    roundsOf(findings, carrier, load).map(({ result }) => (result.totalMs.length * 1000) / result.wallMs)
  const rival = rates('rival').length > 0 ? rates('rival') : rates('mended')
  return {
    title: asked.title,
    columns: ['', 'calls/s', 'of the pipe', 'of the rival', 'p99', 'CPU ms', 'core'],
    rows: carriersOf(load).map((carrier) => {
      const rounds = roundsOf(findings, carrier, load)
      const cpu = (over: (measured: Measured) => number) => median(rounds.map((one) => one.cpuMs / over(one)))
      return [
        carrierLabels[carrier],
        figure(median(rates(carrier)), 0),
        carrier === 'direct' ? '-' : ratio(pairedRatio(rates(carrier), rates('pipe'))),
        carrier === 'direct' ? '-' : ratio(pairedRatio(rates(carrier), rival)),
        figure(
          percentile(
            rounds.flatMap(({ result }) => result.totalMs),
            99,
          ),
          1,
        ),
        figure(
          cpu(({ result }) => result.totalMs.length),
          3,
        ),
        carrier === 'direct' ? '-' : `${figure(100 * cpu(({ result }) => result.wallMs), 0)} %`,
      ]
    }),
    notes: [
      'Medians of the rounds, ratios within the round; p99 in ms over all. "CPU ms" is the processor time of the process for each call, "core" its share of one core: well below 100 %, the load or the disk was the bound, and CPU ms says more.',
      ...failureNotes(findings, load),
    ],
  }
}

function carriersOf(load: LoadName): readonly CarrierName[] {
  return load.startsWith('stream') ? streamCarriers : plainCarriers
}

function roundsOf(findings: Findings, carrier: CarrierName, load: LoadName): readonly Measured[] {
  return findings.measured.filter((one) => one.carrier === carrier && one.load === load)
}

function failureNotes(findings: Findings, load: LoadName): readonly string[] {
  return carriersOf(load).flatMap((carrier) => {
    const label = carrierLabels[carrier]
    const refusal = findings.refusals.get(`${carrier} ${kindOf(load.startsWith('stream'))}`)
    if (refusal !== undefined) return [`${label} carried none of these calls: ${refusal.trim()}`]
    const rounds = roundsOf(findings, carrier, load)
    const failures = rounds.reduce((sum, { result }) => sum + result.failures, 0)
    const first = rounds.find(({ result }) => result.failure !== null)?.result.failure
    return failures === 0 ? [] : [`${label}: ${failures} calls failed, the first with: ${first ?? ''}`]
  })
}
