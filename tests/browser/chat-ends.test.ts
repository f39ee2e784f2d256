import type { ServerResponse } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerStream, chunkEvent, startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

/** Sends the beginning of an answer and keeps the stream open. */
function begins(response: ServerResponse, words = 'One, two, three'): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const word of words.split(/(?<= )/)) response.write(chunkEvent({ content: word }))
}

describe.skipIf(!hasBrowser)('the end of a turn in the browser', () => {
  let mesh: MeshProcess
  let browser: Browser
  let provider: LlmUpstream
  beforeAll(async () => {
    ;[provider, browser] = await Promise.all([startLlmUpstream(), openBrowser()])
    mesh = await startMesh({
      settings: {
        default_model: 'here/m',
        providers: { here: { kind: 'openai-compatible', base_url: provider.baseUrl } },
      },
    })
    await mesh.createWorker('scribe', { role: 'Writes.' })
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([mesh?.stop(), provider?.close()])
  })

  async function chat(width = 1280, theme: 'light' | 'dark' = 'light') {
    const watched = await openPage(browser, mesh.url, { width, theme })
    await watched.open('/chat/scribe')
    const field = watched.page.getByRole('textbox').last()
    const log = watched.page.getByRole('log', { name: 'Messages' })
    const say = async (words: string) => {
      await field.fill(words)
      await field.press('Enter')
      const turn = log.locator('.turn').filter({ hasText: words })
      await turn.first().waitFor()
      return turn.last()
    }
    return { ...watched, field, log, say }
  }
  const shownText = async (turn: { innerText(): Promise<string> }) =>
    (await turn.innerText()).replaceAll(/\s+/g, ' ')

  it('a turn that is reloaded while it streams shows what came before, and goes on', async () => {
    const rest: (() => void)[] = []
    provider.answerWith((_call, response) => {
      begins(response)
      rest.push(() => {
        response.write(chunkEvent({ content: ', four' }))
        response.write(chunkEvent({ content: ', five.' }))
        response.write(chunkEvent({}, 'stop'))
        response.end('data: [DONE]\n\n')
      })
    })
    const { page, log, say, faults, context } = await chat()
    const turn = await say('Count for me')
    await turn.getByText('One, two, three').waitFor()
    await page.reload()
    const again = log.locator('.turn').filter({ hasText: 'Count for me' })
    await again.getByText('One, two, three').waitFor()
    for (const send of rest.splice(0)) send()
    await again.getByText('One, two, three, four, five.').waitFor()
    expect(await again.count()).toBe(1)
    await page.reload()
    await log.getByText('One, two, three, four, five.').waitFor()
    expect(await again.count()).toBe(1)
    expect(faults).toEqual([])
    await context.close()
  })

  it.each([
    ['stops', 'cancelled', 'Stopped before the answer was complete.'],
    ['that the provider cuts', 'failed', 'ended its answer early'],
  ] as const)('a turn %s keeps what was streamed, also after a reload', async (how, state, why) => {
    const cuts: (() => void)[] = []
    provider.answerWith((_call, response) => {
      begins(response)
      cuts.push(() => response.destroy())
    })
    const { page, log, say, faults, picture, context } = await chat()
    const turn = await say(`A turn ${how}`)
    await turn.getByText('One, two, three').waitFor()
    if (state === 'cancelled') await page.getByRole('button', { name: 'Stop', exact: true }).click()
    else for (const cut of cuts.splice(0)) cut()
    await turn.locator('.turn-end').getByText(state).waitFor()
    // The mesh settles the tokens of the call after the run has ended, and the page then shows them.
    await expect.poll(() => shownText(turn)).toMatch(/[1-9]k? tokens/)
    const live = await shownText(turn)
    expect(live).toContain('One, two, three')
    expect(live).toContain(why)
    // The provider did not report what the call used, so the reserved tokens are a bound.
    expect(live).toMatch(/up to [\d.]+k? tokens/)
    await picture(`chat-${state}`)
    // The agent stores the end of a stopped run shortly after the mesh has ended the run; the page requests the
    // history again.
    await page.reload()
    const again = log
      .locator('.turn')
      .filter({ hasText: `A turn ${how}` })
      .last()
    await expect.poll(async () => shownText(again)).toBe(live)
    expect(faults).toEqual([])
    await context.close()
  })

  it('what a reader sends while scrolled up leads to the end, and words that come meanwhile are announced', async () => {
    const open: ServerResponse[] = []
    provider.answerWith((call, response) => {
      if (!JSON.stringify(call.body).includes('and then what')) return answerStream(call, response)
      open.push(response)
      begins(response, 'Line.\n\n'.repeat(40))
      return undefined
    })
    const { page, log, field, say, faults, picture, breaches, context } = await chat(390, 'dark')
    for (const words of ['first', 'second', 'third']) {
      const turn = await say(`${words}${'\n'.repeat(12)}of it`.replaceAll('\n', ' line '.repeat(20)))
      await turn.locator('.turn-end').getByText('done').waitFor()
    }
    const distance = () =>
      log.evaluate((box) => {
        const { scrollHeight, scrollTop, clientHeight } = box as unknown as Record<string, number>
        return Math.round((scrollHeight ?? 0) - (scrollTop ?? 0) - (clientHeight ?? 0))
      })
    const scrollUp = () =>
      log.evaluate((box) => (box as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 0))
    await scrollUp()
    await field.fill('and then what?')
    await field.press('Enter')
    await log.getByText('Line.').first().waitFor()
    await expect.poll(distance).toBeLessThan(80)
    // A message to the working agent is at the end too.
    await scrollUp()
    await page.getByLabel('Say something to').fill('mind the gap')
    await page.keyboard.press('Enter')
    await expect.poll(distance).toBeLessThan(80)
    await log.getByText('mind the gap').waitFor()
    await expect.poll(distance).toBeLessThan(80)
    await scrollUp()
    const toNew = page.getByRole('button', { name: 'New messages' })
    expect(await toNew.count()).toBe(0)
    open[0]?.write(chunkEvent({ content: 'The end.\n\n' }))
    await toNew.waitFor()
    // The scroll position of the reader does not change.
    expect(await distance()).toBeGreaterThan(80)
    await picture('chat-new-messages')
    expect(await breaches()).toEqual([])
    await toNew.click()
    await expect.poll(distance).toBeLessThan(80)
    await expect.poll(() => toNew.count()).toBe(0)
    for (const response of open) response.destroy()
    expect(faults).toEqual([])
    await context.close()
  })
})
