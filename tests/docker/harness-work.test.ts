import process from 'node:process'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff } from '../support/cassettes.ts'
import { startCodingProvider } from '../support/coding-provider.ts'
import type { CodingWork } from '../support/coding-provider.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { harnessPackages, harnessSize, runInside, workerWithImage } from './harness-fleet.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()

const handOff = { to: 'clerk', title: 'Count', description: 'Count the lines' }

const npmFiles = {
  'package.json': JSON.stringify({ name: 'sums', version: '1.0.0', scripts: { test: 'node --test' } }),
  'package-lock.json': JSON.stringify({
    name: 'sums',
    version: '1.0.0',
    lockfileVersion: 3,
    packages: { '': { name: 'sums', version: '1.0.0' } },
  }),
  'sum.js': 'exports.sum = (a, b) => a - b\n',
  'sum.test.js':
    "require('node:test')('sums', () => require('node:assert').equal(require('./sum.js').sum(1, 2), 3))\n",
}
const pythonFiles = {
  'sums.py': 'def add(a, b):\n    return a - b\n',
  'test_sums.py': 'from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n',
}
const inNpm: CodingWork = {
  file: '/data/repo/sum.js',
  content: 'exports.sum = (a, b) => a + b\n',
  testCommand:
    'cd /data/repo && (npm ci && npm test) > tested 2>&1; echo exit $? >> tested; git diff --no-ext-diff > change 2>&1',
  handOff,
  result: 'There are 7 lines.',
  summary: 'The sum is right now.',
}
const inPython: CodingWork = {
  ...inNpm,
  file: '/data/repo/sums.py',
  content: 'def add(a, b):\n    return a + b\n',
  testCommand:
    'cd /data/repo && python3 -m pytest -q > tested 2>&1; echo exit $? >> tested; git diff --no-ext-diff > change 2>&1',
}

/** Each known harness from its registry package. */
const cases = [
  { harness: 'gemini', pip: [], files: npmFiles, work: inNpm },
  { harness: 'opencode', pip: [], files: npmFiles, work: inNpm },
  { harness: 'codex', pip: ['pytest'], files: pythonFiles, work: inPython },
  { harness: 'claude-code', pip: [], files: npmFiles, work: inNpm },
] as const

const titleOf = (harness: string) => `Repair with ${harness}`

const chosen = process.env['FLOTILLA_TEST_HARNESS']
const tried = cases.filter(({ harness }) => chosen === undefined || chosen === harness)

withEngine(
  'harnesses from their packages',
  () => {
    let mesh: MeshProcess
    let upstream: LlmUpstream
    beforeAll(async () => {
      const works = Object.fromEntries(cases.map(({ harness, work }) => [harness, work]))
      upstream = await startCodingProvider(works)
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: {
          fleet: aCassette(
            ...cases.flatMap(({ harness }) =>
              operatorHandsOff({
                when: `^work ${harness}$`,
                to: harness,
                title: titleOf(harness),
                description: 'Repair the sum in /data/repo.',
                capture: { said: 'Summary: (.*)' },
                answer: '{{said}}',
              }),
            ),
            { agents: ['clerk'], turns: [calls('complete_task', { summary: inNpm.result })] },
          ),
        },
        settings: {
          providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
          models: Object.fromEntries(
            [...cases.map(({ harness }) => harness), 'caller'].map((name) => [
              `fake/${name}`,
              { price: { input_per_mtok: 1, output_per_mtok: 2 } },
            ]),
          ),
          agents: {
            ...Object.fromEntries(
              cases.map(({ harness, pip }) => [
                harness,
                {
                  harness,
                  size: harnessSize,
                  models: [`fake/${harness}`],
                  packages: { npm: harnessPackages[harness], pip },
                },
              ]),
            ),
            caller: {
              size: harnessSize,
              models: ['fake/caller'],
              packages: { npm: ['@google/genai@3.3.0'], pip: ['google-genai==3.6.1'] },
            },
          },
        },
      })
      await mesh.createWorker('clerk')
    })
    afterAll(async () => {
      await mesh?.stop()
      await upstream?.close()
    })

    const inside = (agent: string, command: string) => runInside(mesh, agent, command)

    it.each(tried)(
      '$harness opens a repository, edits a file, runs its tests, hands work over and completes its task',
      { timeout: patient(900_000) },
      async ({ harness, files, work }) => {
        await workerWithImage(mesh, harness, { model: `fake/${harness}` })
        await editPermissions(mesh, harness, { can_route_tasks: true, can_message: ['operator', 'clerk'] })
        const writes = Object.entries(files).map(
          ([name, text]) => `cat > ${name} <<'END'\n${text.trimEnd()}\nEND\n`,
        )
        const begun = await inside(
          harness,
          `mkdir repo && cd repo && git init -q\n${writes.join('')}git add . && git -c user.name=t -c user.email=t@t commit -qm begin && echo begun`,
        )
        expect(begun).toContain('begun')
        const answer = await mesh.ask(`work ${harness}`, { session: harness })
        const task = (await mesh.tasks()).find(({ title }) => title === titleOf(harness))
        expect(task, mesh.log().slice(-3000)).toMatchObject({ state: 'done', assignee: harness })
        expect(answer.outcome?.text).toContain(work.summary)
        // The mesh has booked each call, so what the harness reports of them adds nothing.
        const ofTask = (await mesh.runs()).filter((run) => run.task_id === task?.id)
        expect(ofTask.map((run) => [run.tokens_used > 1000, run.reported_tokens])).toEqual(
          ofTask.map(() => [true, 0]),
        )
        expect(ofTask).not.toEqual([])
        const done = await inside(harness, 'cat repo/tested repo/change')
        const said = upstream.calls.findLast(({ body }) => body['model'] === harness)?.text.slice(-6000)
        expect(done, said).toMatch(/exit 0[^]*\n-.* - [^]*\n\+.* \+ /)
        expect((await mesh.tasks()).find(({ title }) => title === 'Count')).toMatchObject({
          state: 'done',
          assignee: 'clerk',
        })
        // Every call went through the gateway with the placeholder, to the agent's own model.
        const models = new Set(upstream.calls.map(({ body }) => body['model']))
        expect([...models].filter((name) => !cases.some((one) => one.harness === name))).toEqual([])
      },
    )

    it(
      'the official Google clients for Python and JavaScript work in a container unchanged',
      { timeout: patient(900_000) },
      async () => {
        await workerWithImage(mesh, 'caller', { model: 'fake/caller' })
        const python = `
from google import genai
client = genai.Client()
print(client.models.generate_content(model='fake/caller', contents='hi').text)
print(''.join(one.text or '' for one in client.models.generate_content_stream(model='fake/caller', contents='hi')))
`
        const script = `
const { GoogleGenAI } = require('@google/genai')
const options = { apiKey: process.env.GEMINI_API_KEY, httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL } }
new GoogleGenAI(options).models.generateContent({ model: 'fake/caller', contents: 'hi' }).then(({ text }) => console.log(text))
`
        const folder = '/opt/flotilla/packages/npm/node_modules'
        const said = await inside(
          'caller',
          `cat > c.py <<'END'\n${python}END\ncat > c.cjs <<'END'\n${script}END\npython3 c.py; NODE_PATH=${folder} node c.cjs`,
        )
        expect(said.match(/This is a question beside the work\./g), said).toHaveLength(3)
      },
    )
  },
  found,
)
