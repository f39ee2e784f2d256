import { blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { taskHumanEndpoints } from '@flotilla/protocol/task-api'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import type { CallOptions } from '../support/mesh-calls.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { hostileText } from './dashboard-cassette.ts'

/** Pictures and pages that an attacker saves. */
export const hostileFiles = {
  'logo.svg': `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script><image href="http://203.0.113.9/x.png"/></svg>`,
  'report.html': `<!doctype html><script>alert(3)</script><img src="http://203.0.113.9/y.png" onerror="alert(4)"><form action="http://203.0.113.9/"></form>`,
} as const

const cassette = aCassette(
  ...operatorHandsOff({
    when: '^have the licences counted$',
    to: 'scribe',
    title: 'Count the licences',
    answer: 'There are three.',
  }),
  {
    agents: ['scribe'],
    when: 'Count the licences',
    turns: [
      runs('echo three licences'),
      calls('complete_task', { summary: 'I found three licences, all of them fine.' }),
    ],
  },
  {
    agents: ['scribe'],
    when: '"title": ?"Ask',
    turns: [
      calls('update_task', { action: 'block', note: 'Which folder do you mean?' }),
      says('I wait for the answer.'),
    ],
  },
  { agents: ['scribe'], when: '^Task ', turns: [calls('complete_task', { summary: 'It is written.' })] },
  { agents: ['scribe'], when: '^good morning$', turns: [says('Yes.')] },
  // Only `courier` answers other messages; the person that `scribe` waits for is played by the test.
  { agents: ['courier'], turns: [says('Yes.')] },
)

/** Starts a mesh in which work was given, shared and watched, some of it by an attacker. */
export async function startWorkFleet(): Promise<MeshProcess> {
  const mesh = await startMesh({ cassettes: { work: cassette } })
  const good = async (endpoint: Parameters<MeshProcess['call']>[0], options: CallOptions) => {
    const reply = await mesh.call(endpoint, options)
    if (reply.status >= 300) throw new Error(`${endpoint.path}: ${reply.status} ${reply.text}`)
  }
  await mesh.createWorker('scribe', { role: 'Reads licences of packages and says which ones need a look.' })
  await mesh.createWorker('courier', { role: 'Carries reports to whoever asked for them.' })
  await editPermissions(mesh, 'scribe', {
    can_publish: ['*'],
    can_subscribe: ['*'],
    blackboard_write: ['*'],
    blackboard_read: ['*'],
  })
  const params = { name: 'licences' }
  await good(projectHumanEndpoints.projectManage, { params, body: { action: 'create', agents: ['courier'] } })
  await good(projectHumanEndpoints.projectWrite, {
    params,
    body: {
      text: 'Every package that we ship states a licence that our policy allows.',
      criteria: ['No package without a licence', 'A report each morning'],
      expected_version: 0,
    },
  })
  await good(projectHumanEndpoints.projectWrite, {
    params,
    body: { section: 'Customers', text: `They are patient.\n\n${hostileText}`, expected_version: 0 },
  })
  for (const [name, content] of Object.entries(hostileFiles)) {
    await mesh.invoke('scribe', 'save_artifact', { name, content, description: 'a hostile file' })
  }
  await good(blackboardHumanEndpoints.blackboardPut, {
    params: { key: 'output/report' },
    body: { value: { step: 1, by: 'owner', words: hostileText } },
  })
  await good(blackboardHumanEndpoints.blackboardWatchSet, {
    body: { agent_id: 'courier', pattern: 'output/**', tell: 'run' },
  })
  await good(cronHumanEndpoints.cronCreate, {
    body: {
      agent: 'courier',
      schedule: 'every 5s',
      message: 'Carry the report.',
      when: 'now.hour > 50',
    },
  })
  await good(cronHumanEndpoints.cronCreate, {
    body: { agent: 'scribe', schedule: '0 9 * * MON-FRI', message: 'Send the morning report.' },
  })
  return mesh
}

/** Creates a task and returns its id. */
export async function giveTask(mesh: MeshProcess, title: string): Promise<string> {
  const reply = await mesh.call(taskHumanEndpoints.taskGive, { body: { to: 'scribe', title } })
  if (reply.status !== 201) throw new Error(reply.text)
  return (reply.json()['task'] as { id: string }).id
}
