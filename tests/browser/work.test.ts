import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { taskDetailSchema, taskHumanEndpoints } from '@flotilla/protocol/task-api'
import type { TaskDetailView } from '@flotilla/protocol/task-api'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { MeshProcess } from '../support/mesh-process.ts'
import { wrongWith } from './every-view.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'
import type { WatchedPage } from './open-browser.ts'
import { giveTask, hostileFiles, startWorkFleet } from './work-fleet.ts'

/** Views of what the tests before have left. */
const views = [
  { name: 'work-board', path: '/work', shows: 'Write the report' },
  { name: 'work-list', path: '/work?as=list', shows: 'Write the report' },
  { name: 'work-task', path: '/work/tasks/:task', shows: 'History' },
  { name: 'work-projects', path: '/work/projects', shows: 'courier' },
  { name: 'work-project', path: '/work/projects/licences', shows: 'They are patient.' },
  { name: 'work-goals', path: '/work/goals', shows: 'No package without a licence' },
  { name: 'work-artifacts', path: '/work/artifacts?open=scribe%2Flogo.svg', shows: 'sha256' },
  { name: 'work-feedback', path: '/work/feedback', shows: 'Awaiting your review' },
  { name: 'blackboard', path: '/blackboard?key=output%2Freport', shows: 'From' },
  { name: 'blackboard-topics', path: '/blackboard/topics?topic=builds%2Fmain', shows: 'green' },
  { name: 'blackboard-watches', path: '/blackboard/watches', shows: 'output/**' },
  { name: 'run-trace', path: '/runs/:run', shows: 'waits for its turn' },
  { name: 'triggers-work', path: '/triggers', shows: 'Every 5 seconds' },
  { name: 'costs-work', path: '/costs', shows: 'The whole fleet' },
] as const

describe.skipIf(!hasBrowser)('work in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  let looked: WatchedPage | undefined
  beforeAll(async () => {
    ;[mesh, browser] = await Promise.all([startWorkFleet(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await mesh?.stop()
  })

  async function detail(id: string): Promise<TaskDetailView> {
    return taskDetailSchema.parse((await mesh.call(taskHumanEndpoints.task, { params: { id } })).json())
  }

  it('work in the browser is accepted, sent back with words, and answered from the board, each as the table of tasks allows', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/work')
    await page.locator('[data-line=live]').first().waitFor()
    const [good, poor, asks] = await Promise.all(
      ['Write the report', 'Write it short', 'Ask which folder'].map((title) => giveTask(mesh, title)),
    )
    const done = page.getByRole('region', { name: 'Tasks that are done' })
    const card = (title: string) => page.getByRole('article', { name: title })
    await done.getByRole('article', { name: 'Write the report' }).waitFor()
    await done.getByRole('article', { name: 'Write it short' }).waitFor()
    // Only tasks that have ended can be accepted or sent back.
    expect(await card('Write the report').getByRole('button').allTextContents()).toEqual([
      'Accept',
      'Rework …',
      'Reject …',
    ])
    await card('Write the report').getByRole('button', { name: 'Accept' }).click()
    await card('Write the report').getByText('accepted').waitFor()
    expect((await detail(good ?? '')).task).toMatchObject({
      outcome: 'accepted',
      outcome_by: 'human:dashboard',
    })
    await card('Write it short').getByRole('button', { name: 'Rework …' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Rework' }).isDisabled()).toBe(true)
    await dialog.getByRole('textbox').fill('Half as long, please.')
    await picture('work-rework-dialog')
    await dialog.getByRole('button', { name: 'Rework' }).click()
    await expect.poll(async () => (await detail(poor ?? '')).task.outcome).toBe('rework')
    await expect
      .poll(async () => (await mesh.tasks()).find((task) => task.previous_task_id === poor)?.state)
      .toBe('done')
    const asked = page.getByRole('region', { name: 'Tasks that are blocked' }).getByRole('article')
    await asked.getByText('Which folder do you mean?').waitFor()
    expect(await asked.getByRole('button').allTextContents()).toEqual([
      'Answer …',
      'Retry …',
      'Reroute …',
      'Cancel …',
    ])
    await asked.getByRole('button', { name: 'Cancel …' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('region', { name: 'Tasks that are cancelled' }).getByRole('article').waitFor()
    expect((await detail(asks ?? '')).task.state).toBe('cancelled')
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser says of an agent that comes into a project which one it has left', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    const manage = (name: string, body: object) =>
      mesh.call(projectHumanEndpoints.projectManage, { params: { name }, body })
    await manage('passing', { action: 'create' })
    await open('/work/projects/passing')
    await page.getByRole('combobox', { name: 'Add an agent' }).selectOption('courier')
    await page.locator('.toast').getByText('courier is moved here from licences.').waitFor()
    await manage('licences', { action: 'add_members', agents: ['courier'] })
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser deletes a project that was put away, with what goes and the owner’s proof', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    const project = { params: { name: 'passing' } }
    await mesh.call(projectHumanEndpoints.projectManage, { ...project, body: { action: 'create' } })
    await open('/work/projects/passing')
    await page.getByRole('button', { name: 'Archive' }).waitFor()
    expect(await page.getByRole('button', { name: 'Delete …' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('button', { name: 'Delete …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('its blackboard keys and their history').waitFor()
    await picture('work-project-delete')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('The project is deleted with all its data').waitFor()
    await giveProof(mesh, page)
    await page.locator('.toast').getByText('Project passing is deleted.').waitFor()
    await expect.poll(() => new URL(page.url()).pathname).toBe('/work/projects')
    expect((await mesh.call(projectHumanEndpoints.project, project)).status).toBe(404)
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser shows a hostile SVG and a hostile page as text, and gives them as attachments that no browser runs', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    for (const [name, content] of Object.entries(hostileFiles)) {
      await open(`/work/artifacts?open=${encodeURIComponent(`scribe/${name}`)}`)
      expect(await page.getByRole('region', { name: `Text of ${name}` }).textContent()).toBe(content)
      expect(
        await page.locator('main').locator('img, script, iframe, object, embed, svg[onload], form').count(),
      ).toBe(0)
      const reply = await mesh.call(meshHumanEndpoints.artifact, { params: { agent: 'scribe', name } })
      expect(reply.headers).toMatchObject({
        'content-disposition': 'attachment',
        'content-type': 'application/octet-stream',
        'x-content-type-options': 'nosniff',
      })
      const download = page.waitForEvent('download')
      await page
        .getByRole('link', { name: `Download ${name}` })
        .first()
        .click()
      expect((await download).suggestedFilename()).toBe(name)
    }
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser keeps the history of a key, shows live what changed, and writes over nothing unseen', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/blackboard?key=output%2Freport')
    await page.locator('[data-line=live]').first().waitFor()
    await page.getByText('No earlier version is stored.').waitFor()
    await mesh.invoke('scribe', 'write_blackboard', {
      key: 'output/report',
      value: { step: 2, by: 'scribe' },
    })
    const difference = page.getByRole('region', { name: 'Difference' })
    await difference.locator('ins').filter({ hasText: '"step": 2' }).waitFor()
    expect(await difference.locator('del').first().textContent()).toContain('"step": 1')
    await picture('blackboard-difference')
    await page.getByRole('button', { name: 'Write …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('{"step": 3}')
    // Another client writes the key first.
    const faster = { params: { key: 'output/report' }, body: { value: 'mine' } }
    expect((await mesh.call(blackboardHumanEndpoints.blackboardPut, faster)).status).toBe(200)
    await dialog.getByRole('button', { name: 'Write' }).click()
    await page
      .locator('.toast')
      .filter({ hasText: /version/i })
      .waitFor()
    expect(await dialog.getByRole('textbox').inputValue()).toBe('{"step": 3}')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Write …' }).click()
    await dialog.getByRole('textbox').fill('{"step": 3}')
    await dialog.getByRole('button', { name: 'Write' }).click()
    await difference.locator('ins').filter({ hasText: '"step": 3' }).waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser shows what is said on a topic as it is said', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await mesh.invoke('scribe', 'subscribe_topic', { topic: 'builds/main' })
    await open('/blackboard/topics')
    await page.locator('[data-line=live]').first().waitFor()
    await page.getByRole('button', { name: 'builds/main' }).click()
    await page.getByText('This topic has no stored messages').waitFor()
    await mesh.invoke('scribe', 'publish_signal', {
      topic: 'builds/main',
      text: 'green <img src=x onerror=alert(1)>',
    })
    await page.getByText('green <img src=x onerror=alert(1)>').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser draws a hand-off as one trace over both runs, by keyboard, with what a call was given and gave', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    const run = await mesh.ask('have the licences counted')
    expect(run.outcome?.text).toBe('There are three.')
    await open(`/runs/${run.id}`)
    const tree = page.getByRole('tree', { name: 'Spans of the trace' })
    await tree.getByRole('treeitem', { name: /uses run_command .*echo three licences/ }).waitFor()
    await tree.getByRole('treeitem', { name: /uses hand_off scribe: / }).waitFor()
    await tree.getByRole('treeitem', { name: /scribe, run done/ }).waitFor()
    const names = await tree.getByRole('treeitem').allTextContents()
    for (const part of [
      /^▾?operator, run done/,
      /waits for its turn/,
      /asks scripted\/work/,
      /uses hand_off/,
      /uses run_command/,
    ]) {
      expect(
        names.filter((name) => part.test(name)),
        String(part),
      ).not.toEqual([])
    }
    await tree.focus()
    const active = () => tree.locator('[aria-selected=true]').textContent()
    for (let step = 0; step < names.length; step++) {
      if (/uses run_command/.test((await active()) ?? '')) break
      await page.keyboard.press('ArrowDown')
    }
    expect(await page.getByRole('region', { name: 'Arguments of run_command' }).textContent()).toContain(
      'echo three licences',
    )
    expect(await page.getByRole('region', { name: 'Result of run_command' }).textContent()).toContain(
      'three licences',
    )
    await picture('trace-hand-off')
    await page.keyboard.press('ArrowLeft')
    expect(await active()).toContain('scribe, run done')
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => tree.getByRole('treeitem').filter({ hasText: 'run_command' }).count()).toBe(0)
    await page.keyboard.press('Home')
    expect(await active()).toContain('operator, run done')
    await page
      .getByRole('link', {
        name:
          (await mesh.runs()).find(
            ({ agent_id: agent, task_id: task, parent_id: parent }) =>
              agent === 'scribe' && task !== null && parent === run.id,
          )?.id ?? 'none',
      })
      .first()
      .waitFor({ state: 'detached' })
    // The list names the run by its request, as it does for other runs.
    await open('/runs?agent=scribe')
    await page.getByRole('region', { name: 'Runs' }).getByText('Task: Count the licences').first().waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser plays a run again and compares it, through the use case of flotilla replay', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    const run = await mesh.ask('good morning', { agent: 'scribe' })
    await open(`/runs/${run.id}`)
    await page.getByRole('button', { name: 'Replay or fork …' }).click()
    await page.getByRole('button', { name: 'Replay turn 1' }).click()
    await page.getByRole('heading', { name: 'Replay of turn 1 of 1' }).waitFor()
    await page.getByText('same', { exact: true }).waitFor()
    await picture('run-replay')
    expect((await mesh.runs(1))[0]?.input).toMatchObject({
      session: expect.stringMatching(/^replay:/) as string,
    })
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser says why a job did not fire, and when it is due next', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    await open('/triggers')
    await page.getByText('At 09:00, Monday through Friday').waitFor()
    const row = page.getByRole('row').filter({ hasText: 'Carry the report.' })
    await row.getByText('Every 5 seconds').waitFor()
    await row.getByRole('button', { name: 'Why and when' }).click()
    const history = page.getByRole('region', { name: 'History' })
    await history
      .getByText(/skipped \(condition\)/)
      .first()
      .waitFor()
    expect(await page.getByRole('region', { name: 'Next times' }).getByRole('listitem').count()).toBe(5)
    expect(await page.getByRole('region', { name: 'Why did it not fire?' }).textContent()).toContain(
      'now.hour > 50',
    )
    await picture('triggers-why')
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser has jobs, heartbeats and watched folders made, paused and taken away in the page, with the next times before', async () => {
    const { page, open, faults, picture, context } = await openPage(browser, mesh.url)
    const dialog = page.getByRole('dialog')
    const save = async () => {
      await dialog.getByRole('button', { name: 'Review change' }).click()
      await dialog.getByRole('button', { name: 'Save' }).click()
    }
    await open('/triggers')

    const jobs = page.getByRole('region', { name: 'Cron jobs' })
    await jobs.getByRole('button', { name: 'New job …' }).click()
    await dialog.getByLabel('Agent', { exact: true }).selectOption('courier')
    await dialog.getByLabel('Message to the agent').fill('Water the plants.')
    await dialog.getByLabel('Schedule').fill('61 * * * *')
    await dialog.getByText(/^Schedule: /).waitFor()
    expect(await dialog.getByRole('button', { name: 'Review change' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Schedule').fill('0 7 * * MON')
    await dialog.getByText('At 07:00, only on Monday').waitFor()
    await picture('triggers-new-job')
    await save()
    const row = jobs.getByRole('row').filter({ hasText: 'Water the plants.' })
    await row.getByRole('button', { name: 'Pause' }).click()
    await row.getByText('paused').waitFor()
    await row.getByRole('button', { name: 'Resume' }).click()
    await row.getByRole('button', { name: 'Pause' }).waitFor()
    await row.getByRole('button', { name: 'Remove' }).click()
    await row.waitFor({ state: 'detached' })
    await page.getByText('The job is removed.').waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await row.waitFor()

    const beats = page.getByRole('region', { name: 'Heartbeats' })
    await beats.getByRole('button', { name: 'Change … courier' }).click()
    await dialog.getByRole('checkbox').check()
    await dialog.getByLabel('How often').fill('every 2h')
    await dialog.getByText('Every 2 hours').waitFor()
    await save()
    await beats.getByText('Every 2 hours').waitFor()
    await beats.getByRole('button', { name: 'Stop courier' }).click()
    await beats.getByRole('row').filter({ hasText: 'courier' }).getByText('off', { exact: true }).waitFor()

    const watched = page.getByRole('region', { name: 'Watched files' })
    await watched.getByRole('button', { name: 'New folder …' }).click()
    await dialog.getByLabel('Folder').fill('/srv/no-such-inbox')
    await dialog.getByLabel('Names').fill('*.csv')
    await dialog.getByLabel('Message to the agent').fill('See {filename}.')
    await picture('triggers-new-watcher')
    await save()
    await giveProof(mesh, page)
    await watched.getByText('/srv/no-such-inbox/*.csv').waitFor()
    const kept = await readFile(join(mesh.home, 'config', 'watchers.yaml'), 'utf8')
    expect(kept).toContain('path: /srv/no-such-inbox')
    await watched.getByRole('button', { name: 'Stop watching /srv/no-such-inbox' }).click()
    await watched.getByText('No folder is watched').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })

  it('work in the browser checks the chain of the journal and exports what is filtered', async () => {
    const { page, open, faults, context } = await openPage(browser, mesh.url)
    await open('/journal')
    await page.getByRole('button', { name: 'Check the chain' }).click()
    await page.getByText(/The chain is intact: \d+ rows checked\./).waitFor()
    // A new row appears without a reload while the page is open.
    await mesh.invoke('scribe', 'write_blackboard', { key: 'output/looked-at', value: 1 })
    await page.getByRole('region', { name: 'Rows' }).getByText('output/looked-at').first().waitFor()
    await page.getByRole('textbox', { name: 'Action' }).fill('blackboard.*')
    const download = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Export these' }).click()
    const stream = await (await download).createReadStream()
    let text = ''
    for await (const piece of stream) text += String(piece)
    const actions = text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { action: string }).action)
    expect(actions.length).toBeGreaterThan(0)
    expect(actions.filter((action) => !action.startsWith('blackboard.'))).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it.each(views)('$name is whole, quiet and readable in both themes and widths', async (one) => {
    looked ??= await openPage(browser, mesh.url)
    await looked.page.setViewportSize({ width: 1280, height: 800 })
    const [task] = await mesh.tasks()
    const [handed] = (await mesh.runs(100)).filter(
      ({ input }) => input.kind === 'chat' && input.message === 'have the licences counted',
    )
    const path = one.path.replace(':task', task?.id ?? '').replace(':run', handed?.id ?? '')
    await looked.turnTo(path, one.shows)
    expect(await wrongWith(looked, one.name)).toEqual([])
  })
})
