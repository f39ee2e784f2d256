import { expect, test } from 'vitest'
import { inspectionFindings } from './inspection-findings.ts'

test('a host that programs seem to pin is a warning with the command that makes it a tunnel', () => {
  const findings = inspectionFindings({
    inspected: 2,
    tunnels: ['kept.test'],
    pinned: [{ host: 'pinned.test', agent_ids: ['scout', 'clerk'], count: 7 }],
  })
  expect(findings.map(({ level }) => level)).toEqual(['ok', 'warning'])
  expect(findings[0]?.detail).toContain('stay tunnels, as the owner decided: kept.test')
  expect(findings[1]?.detail).toMatch(/scout, clerk closed 7 connections to the inspected host pinned\.test/)
  expect(findings[1]?.detail).toContain('may not accept the certificate of the fleet')
  expect(findings[1]?.repair).toContain(
    'flotilla egress tunnel pinned.test; the mesh then neither decides nor records requests to it',
  )
})

test('a home without inspected hosts has no finding', () => {
  expect(inspectionFindings({ inspected: 0, tunnels: [], pinned: [] })).toEqual([])
})
