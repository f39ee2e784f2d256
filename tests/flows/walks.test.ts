import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { isTerminal } from '@flotilla/protocol/run'
import * as z from 'zod'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { pinnedNode, repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { excludedPaths } from '../walk-exclusions.ts'
import { readPage, readWalks } from '../walks.ts'

const support = join(repositoryRoot, 'tests/support')
const cassette = aCassette(
  ...operatorHandsOff({ when: '^delegate', to: 'helper', title: 'Count', answer: 'There are some.' }),
  {
    agents: ['helper'],
    when: 'Count',
    turns: [calls('complete_task', { summary: 'I found 42 things.' })],
  },
  { turns: [says('One two three.')] },
)

const walks = readWalks(readPage())
const filesOf = (name: string) =>
  walks.find((walk) => walk.name === name)?.steps.map(({ path }) => path) ?? []

let mesh: MeshProcess
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-walks-'))
  mesh = await startMesh({
    cassettes: { walks: cassette },
    environment: { WATCHED_FOLDER: folder },
    startedBy: [
      pinnedNode,
      '--import',
      join(support, 'watched-program.mjs'),
      join(support, 'watched-mesh.mjs'),
    ],
  })
  await mesh.createWorker('helper')
  // Starts both agents, and makes them load what a run needs.
  await mesh.ask('delegate first', { session: 'first' })
  await mesh.ask('hello')
})
afterAll(async () => {
  await mesh.stop()
  await rm(folder, { recursive: true, force: true })
})

let taken = 0
/** Returns the files of which a function ran since the last request, in all programs. */
async function filesThatRan(): Promise<ReadonlySet<string>> {
  const programs = (await readFile(join(folder, 'programs'), 'utf8')).trim().split('\n')
  const told = programs.map(async (pid) => {
    process.kill(Number(pid), 'SIGUSR2')
    const file = join(folder, `${pid}-${taken}.json`)
    return eventually(`${file} is there`, () => readFile(file, 'utf8').catch(() => null))
  })
  const texts = await Promise.all(told)
  taken += 1
  const paths = texts.flatMap((text) => z.array(z.string()).parse(JSON.parse(text)))
  return new Set(paths.map((path) => relative(repositoryRoot, path)))
}

const isBeside = (path: string) =>
  excludedPaths.some((one) => (one.endsWith('**') ? path.startsWith(one.slice(0, -2)) : path === one))

describe('a chat message', () => {
  it('a chat message runs through every file of its walk and of a model call, and through no other that the page does not name', async () => {
    const rounds: ReadonlySet<string>[] = []
    for (let round = 0; round < 6; round += 1) {
      await filesThatRan()
      await mesh.ask(`hello ${round}`)
      rounds.push(await filesThatRan())
    }
    // Timers run during some messages only, so these files are left out.
    const always = [...(rounds[0] ?? [])].filter((path) => rounds.every((round) => round.has(path)))
    const walk = filesOf('Chat message')
    expect([...walk, ...filesOf('Model call with money')].filter((path) => !always.includes(path))).toEqual(
      [],
    )
    expect(always.filter((path) => !walk.includes(path) && !isBeside(path))).toEqual([])
  })
})

describe('the return of a hand-off', () => {
  it('the return of a hand-off runs through every file of its walk', async () => {
    await filesThatRan()
    const run = await mesh.ask('delegate more', { session: 'more' })
    expect(run.outcome?.text).toBe('There are some.')
    const ran = await filesThatRan()
    expect(filesOf('Return of a hand-off').filter((path) => !ran.has(path))).toEqual([])
  })
})

describe('a cron tick', () => {
  it('a cron tick runs through every file of its walk', async () => {
    await filesThatRan()
    const made = await mesh.call(cronHumanEndpoints.cronCreate, {
      body: { agent: 'operator', schedule: 'every 5s', message: 'tick' },
    })
    expect(made.status, made.text).toBe(200)
    await eventually('a run of the job ends', async () =>
      (await mesh.runs()).some(({ origin, state }) => origin.kind === 'cron' && isTerminal(state)),
    )
    const ran = await filesThatRan()
    expect(filesOf('Cron tick').filter((path) => !ran.has(path))).toEqual([])
  })
})
