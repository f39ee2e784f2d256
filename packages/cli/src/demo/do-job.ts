import { readFileSync } from 'node:fs'
import type { MeshClient } from '@flotilla/client/mesh-client'
import { operatorAgentId } from '@flotilla/protocol/ids'
import type { CommandContext } from '../context.ts'
import { repositoryRoot } from '../mesh-process/mesh-paths.ts'
import { askLive } from '../repl/live-run.ts'
import { confirmRead } from '../confirm-read.ts'
import { formatBytes } from '../terminal/format.ts'
import { checkAnswer } from './check-answer.ts'
import type { AnswerCheck } from './check-answer.ts'
import { countLicences } from './count-licences.ts'
import type { LicenceCount } from './count-licences.ts'
import { demoProject } from './demo-project.ts'
import { packLicences } from './pack-licences.ts'
import { question, questionWithDefinitions } from './permissive-licences.ts'

export interface JobReport {
  readonly right: boolean
  readonly question: string
  readonly answer: string
  readonly facts: AnswerCheck['facts']
}

const worker = 'auditor'
const reportName = 'report.md'
const summaryKey = 'output/licences'

/** Gives the worker its real input, asks the operator, shows the work, and checks the answer. */
export async function doJob(
  context: CommandContext,
  { client, exact }: { readonly client: MeshClient; readonly exact: boolean },
): Promise<JobReport> {
  const { terminal, signal } = context
  await putInput(context, client)
  terminal.print('', `${terminal.color.strong('You ask the operator:')} ${question}`, '')
  const run = await askLive(client, terminal, {
    agentId: operatorAgentId,
    message: questionWithDefinitions,
    idempotencyKey: context.newKey(),
    signal,
    clock: context.clock,
    eventsBeside: false,
  })
  await confirmRead(client, run)
  const answer = run.outcome?.status === 'done' ? run.outcome.text : ''
  const expected = countLicences(demoProject(repositoryRoot))
  const checked = checkAnswer(answer, expected)
  const traces = await checkTraces(client, { expected, signal })
  // A real model may forget to store the report, so only the scripted model must have stored it (`exact`).
  const facts = [...checked.facts, ...traces]
  const right = checked.right && (!exact || traces.every((fact) => fact.found))
  showCheck(context, { facts, expected })
  return { right, question, answer, facts }
}

async function putInput({ terminal, signal }: CommandContext, client: MeshClient): Promise<void> {
  const lock = new Uint8Array(readFileSync(demoProject(repositoryRoot).lockFile))
  const licences = packLicences(demoProject(repositoryRoot))
  terminal.progress.step('Giving the auditor the real package-lock.json and licence files')
  const put = (path: string, bytes: Uint8Array<ArrayBuffer>) =>
    client.call('fileWrite', { params: { id: worker, path }, bytes, signal })
  await put('input/package-lock.json', lock)
  await put('input/licences.tar', licences.bytes)
  terminal.progress.done()
  terminal.print(
    `The auditor has package-lock.json (${formatBytes(lock.length)}) and licences.tar (${licences.files} files, ${formatBytes(licences.bytes.length)}).`,
  )
}

/** Checks what the worker should have stored outside its container: the report and the summary. */
async function checkTraces(
  client: MeshClient,
  { expected, signal }: { readonly expected: LicenceCount; readonly signal: AbortSignal },
): Promise<AnswerCheck['facts']> {
  const { artifacts } = await client.call('artifacts', { signal })
  const saved = artifacts.find((artifact) => artifact.name === reportName)
  const report =
    saved === undefined
      ? ''
      : new TextDecoder().decode(
          await client.bytes('artifact', { params: { agent: saved.agent_id, name: saved.name }, signal }),
        )
  const { entries } = await client.call('blackboard', { query: { prefix: summaryKey }, signal })
  return [
    { fact: `${reportName} saved, with the same numbers`, found: checkAnswer(report, expected).right },
    { fact: `${summaryKey} on the blackboard`, found: entries.some((entry) => entry.key === summaryKey) },
  ]
}

function showCheck(
  { terminal }: CommandContext,
  { facts, expected }: { readonly facts: AnswerCheck['facts']; readonly expected: LicenceCount },
): void {
  const { color } = terminal
  const counts = [...expected.byLicence]
    .toSorted((a, b) => b[1] - a[1])
    .map(([licence, count]) => `${licence} ${count}`)
  terminal.print(
    '',
    color.strong('Checked against a count made outside the fleet:'),
    color.faint(`  ${expected.total} dependencies: ${counts.join(', ')}`),
    ...facts.map((fact) => `  ${fact.found ? color.good('✓') : color.bad('✗ missing:')} ${fact.fact}`),
  )
}
