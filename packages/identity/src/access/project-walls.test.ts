import { describe, expect, test } from 'vitest'
import { decideAcrossProjects, decideInProject, decideManaged, projectOfName } from './project-walls.ts'
import type { Membership } from './project-walls.ts'

const members: Readonly<Record<string, Membership>> = {
  red: { name: 'red', archived: false },
  red2: { name: 'red', archived: false },
  blue: { name: 'blue', archived: false },
  old: { name: 'old', archived: true },
  old2: { name: 'old', archived: true },
  // A membership of the operator must not affect decisions.
  operator: { name: 'red', archived: true },
}
const projectOf = (agentId: string) => members[agentId] ?? null
const verdict = (decision: { readonly allowed: boolean; readonly reason?: string } | null) =>
  decision === null ? 'the record decides' : (decision.reason ?? 'allowed')

test.each([
  ['projects/red/plan', 'red'],
  ['projects/red', 'red'],
  ['projects/red/', 'red'],
  ['projects/', null],
  ['projects', null],
  ['projects//plan', null],
  ['output/projects/red', null],
  ['Projects/red', null],
])('%s belongs to %s', (name, project) => {
  expect(projectOfName(name)).toBe(project)
})

describe('what lies in a project', () => {
  const name = 'projects/red/plan'
  test.each([
    ['red', name, true, 'allowed'],
    ['red', name, false, 'allowed'],
    ['blue', name, false, 'projects/red/ belongs to the members of project red, and blue is not a member'],
    ['none', name, true, 'projects/red/ belongs to the members of project red, and none is not a member'],
    ['old', 'projects/old/plan', false, 'allowed'],
    ['old', 'projects/old/plan', true, 'project old is archived: its data can be read but not changed'],
    ['operator', name, true, 'the record decides'],
    ['blue', 'output/plan', true, 'the record decides'],
  ])('%s, %s, writing %s: %s', (...[agentId, key, writes, expected]) => {
    expect(verdict(decideInProject(projectOf, agentId, { name: key, writes }))).toBe(expected)
  })
})

test.each([
  ['red', 'red2', 'the record decides'],
  [
    'red',
    'blue',
    'agent blue belongs to project blue and agent red to project red; members of different projects cannot exchange work',
  ],
  ['red', 'none', 'the record decides'],
  ['none', 'red', 'the record decides'],
  ['old', 'old2', 'project old is archived: its members cannot give each other work'],
  ['operator', 'blue', 'the record decides'],
  ['blue', 'operator', 'the record decides'],
])('%s gives work to %s: %s', (agentId, to, expected) => {
  expect(verdict(decideAcrossProjects(projectOf, agentId, to))).toBe(expected)
})

test.each([
  ['red', 'red', 'the record decides'],
  ['red', undefined, 'the record decides'],
  ['red', 'blue', 'agent red is not a member of project blue; only the operator manages all projects'],
  ['none', 'blue', 'agent none is not a member of project blue; only the operator manages all projects'],
  ['operator', 'blue', 'the record decides'],
])('%s manages %s: %s', (agentId, project, expected) => {
  expect(verdict(decideManaged(projectOf, agentId, project))).toBe(expected)
})
