import { describe, expect, it } from 'vitest'
import { heldPlace } from '../../../../testing/src/held-place.ts'
import {
  containerWalls,
  networkWalls,
  openFilesWall,
  type KernelInside,
  type ProbeReport,
} from './isolation-report.ts'

const canary = '10.64.0.1:9999'
const sibling = '10.64.0.3:8400'
const controls = { reachedFromHost: [canary, sibling] }

function aReport(changes: Partial<ProbeReport> = {}): ProbeReport {
  return {
    attempts: [
      { group: 'mesh', target: '10.64.0.1:8420', outcome: 'connected' },
      { group: 'host', target: canary, outcome: 'EHOSTUNREACH' },
      { group: 'sibling', target: sibling, outcome: 'timeout' },
      { group: 'internet', target: '1.1.1.1:443', outcome: 'ENETUNREACH' },
      { group: 'metadata', target: '169.254.169.254:80', outcome: 'timeout' },
      { group: 'names', target: 'example.com', outcome: 'ETIMEOUT' },
    ],
    ...heldPlace,
    ...changes,
  }
}

function fallen(report: ProbeReport, shown = controls, kernel: KernelInside = 'shared'): readonly string[] {
  return [...networkWalls(report, shown, 'agents'), ...containerWalls(report, kernel)]
    .filter((wall) => !wall.holds)
    .map((wall) => wall.id)
}

function withOutcome(group: string, outcome: string): ProbeReport {
  return aReport({
    attempts: aReport().attempts.map((attempt) =>
      attempt.group === group ? { ...attempt, outcome } : attempt,
    ),
  })
}

describe('the walls of agents', () => {
  it('behind gVisor what its kernel does not say is not asked for, and everything else is', () => {
    const { NoNewPrivs, CapAmb, ...said } = aReport().status
    const report = aReport({ status: said })
    expect(fallen(report, controls, 'gvisor')).toEqual([])
    expect(fallen(report)).toEqual(['no-privileges'])
    expect(fallen({ ...report, status: { ...report.status, CapEff: '1' } }, controls, 'gvisor')).toEqual([
      'no-privileges',
    ])
    for (const more of [{ NoNewPrivs: '0' }, { Seccomp: '0' }] as const) {
      expect(fallen({ ...report, status: { ...said, ...more } }, controls, 'gvisor')).toEqual([
        'no-privileges',
      ])
    }
    expect([NoNewPrivs, CapAmb]).toEqual(['1', '0'])
  })

  it('the isolation report says that all walls hold if every attempt was refused', () => {
    expect(fallen(aReport())).toEqual([])
  })

  it.each([
    ['host', 'host-ports-closed'],
    ['sibling', 'other-sandboxes-closed'],
    ['internet', 'internet-closed'],
    ['metadata', 'metadata-closed'],
  ])('a connection to %s breaks %s, and so does a refusal by the target itself', (group, id) => {
    expect(fallen(withOutcome(group, 'connected'))).toEqual([id])
    expect(fallen(withOutcome(group, 'ECONNREFUSED'))).toEqual([id])
  })

  it('a refusal counts as a wall if the target was shown to listen', () => {
    const between = { ...controls, isRefusedBetween: true }
    expect(fallen(withOutcome('host', 'ECONNREFUSED'), between)).toEqual([])
    expect(fallen(withOutcome('host', 'connected'), between)).toEqual(['host-ports-closed'])
    expect(fallen(withOutcome('internet', 'ECONNREFUSED'), between)).toEqual(['internet-closed'])
  })

  it.each(['resolved 1.2.3.4', 'ENOTFOUND', 'ENODATA', 'EFORMERR'])(
    'a name that is answered with %s was asked outside, whether there is such a name or not',
    (outcome) => expect(fallen(withOutcome('names', outcome))).toEqual(['names-closed']),
  )

  it.each(['ETIMEOUT', 'ECONNREFUSED', 'ESERVFAIL', 'EREFUSED'])(
    'a name lookup that ends with %s reached no name server',
    (outcome) => expect(fallen(withOutcome('names', outcome))).toEqual([]),
  )

  it('an attempt that was never made is no wall', () => {
    expect(fallen(aReport({ attempts: [] }))).toEqual([
      'agent-door-open',
      'host-ports-closed',
      'other-sandboxes-closed',
      'internet-closed',
      'metadata-closed',
      'names-closed',
    ])
  })

  it('a canary that the host itself did not reach proves nothing', () => {
    expect(fallen(aReport(), { ...controls, reachedFromHost: [sibling] })).toEqual(['host-ports-closed'])
  })

  it('a closed agent API is reported', () => {
    expect(fallen(withOutcome('mesh', 'EHOSTUNREACH'))).toEqual(['agent-door-open'])
  })

  it.each<readonly [string, Partial<ProbeReport>]>([
    ['root-read-only', { writeRoot: 'done' }],
    ['message-queues-closed', { makeMessageQueue: 'done' }],
    ['tmp-not-executable', { execInTmp: 'done' }],
    ['processes-bounded', { processes: { started: 300, said: '' } }],
    ['processes-bounded', { processes: { started: 0, said: 'Cannot fork' } }],
    ['processes-bounded', { processes: { started: 120, said: 'ETIMEDOUT after 40000 ms' } }],
    ['processes-bounded', { processes: { started: 120, said: '' } }],
    ['no-new-namespaces', { userNamespace: 'done' }],
    ['no-privileges', { status: { ...aReport().status, CapBnd: '00000000a80425fb' } }],
    ['no-privileges', { status: { ...aReport().status, Seccomp: '0' } }],
    ['ipv6-closed', { addresses: ['fe80::1'] }],
    ['engine-socket-absent', { engineSocket: 'docker.sock' }],
  ])('%s falls when the probe got through', (id, changes) => {
    expect(fallen(aReport(changes))).toEqual([id])
  })
})

it.each([
  ['8192', true],
  ['1024', true],
  ['8193', false],
  ['1048576', false],
  ['unlimited', false],
  ['ENOENT', false],
  ['', false],
])('open files of which a program may have %s are bounded: %s', (openFilesMax, holds) => {
  expect(openFilesWall({ openFilesMax })).toMatchObject({ id: 'open-files-bounded', holds })
})

describe('the walls of browsers', () => {
  const agent = '10.80.0.3:8400'
  const api = '10.80.0.1:8420'
  const shown = { reachedFromHost: [canary, sibling, agent, api] }
  const tried = (changes: Readonly<Record<string, string>> = {}): ProbeReport =>
    aReport({
      attempts: [
        ...aReport().attempts,
        { group: 'agents', target: agent, outcome: 'EHOSTUNREACH' },
        { group: 'agents', target: api, outcome: 'EHOSTUNREACH' },
      ].map((attempt) => ({ ...attempt, outcome: changes[attempt.target] ?? attempt.outcome })),
    })
  const open = (report: ProbeReport, controls = shown) =>
    networkWalls(report, controls, 'browsers').flatMap(({ id, holds }) => (holds ? [] : [id]))

  it('the walls of browsers hold if only their proxy was reached', () => {
    expect(open(tried())).toEqual([])
    expect(networkWalls(tried(), shown, 'browsers').map(({ id }) => id)).toEqual([
      'browser-proxy-open',
      'host-ports-closed',
      'other-sandboxes-closed',
      'internet-closed',
      'metadata-closed',
      'agents-closed',
      'names-closed',
      'ipv6-closed',
    ])
  })

  it.each([
    ['10.64.0.1:8420', 'EHOSTUNREACH', 'browser-proxy-open'],
    [canary, 'connected', 'host-ports-closed'],
    [sibling, 'connected', 'other-sandboxes-closed'],
    [agent, 'connected', 'agents-closed'],
    [api, 'ECONNREFUSED', 'agents-closed'],
  ])('what was tried at %s and met %s breaks %s', (target, outcome, id) => {
    expect(open(tried({ [target]: outcome }))).toEqual([id])
  })

  it('agents that were not tried or not reachable prove nothing', () => {
    expect(open(aReport())).toEqual(['agents-closed'])
    expect(open(tried(), controls)).toEqual(['agents-closed'])
  })
})
