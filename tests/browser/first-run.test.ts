import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startKeyedProvider } from '../support/keyed-provider.ts'
import type { KeyedProvider } from '../support/keyed-provider.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { giveProof } from './give-proof.ts'
import { hasBrowser, openBrowser, openPage } from './open-browser.ts'

const rightKey = 'sk-right-0123456789abcdef'

describe.skipIf(!hasBrowser)('the first run in the browser', () => {
  let browser: Browser
  let provider: KeyedProvider
  const meshes: MeshProcess[] = []
  beforeAll(async () => {
    ;[browser, provider] = await Promise.all([
      openBrowser(),
      startKeyedProvider({ key: rightKey, models: ['hello'] }),
    ])
    meshes.push(...(await Promise.all([startMesh(), startMesh()])))
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([provider?.close(), ...meshes.map((mesh) => mesh.stop())])
  })

  it('the first run in the browser leads by a recording to a first answer, without a key', async () => {
    const { page, open, faults, picture, breaches, context } = await openPage(browser, meshes[0]?.url ?? '')
    await open('/')
    await page.getByRole('heading', { name: 'Welcome' }).waitFor()
    await page.getByRole('button', { name: 'I have a key' }).waitFor()
    await picture('welcome')
    expect(await breaches()).toEqual([])
    await page.getByRole('button', { name: 'Show me a recording' }).click()
    await page.getByRole('button', { name: 'Play the recording' }).click()
    await page.getByText('scripted/first-look').waitFor()
    await page.getByRole('button', { name: 'Make starter' }).click()
    await page.getByText('worker-1, worker-2 and the operator').waitFor()
    await picture('welcome-ready')
    // The welcome page offers the question of the recording also on a later visit.
    await open('/welcome')
    await page.getByText('Show me what this fleet can do.').waitFor()
    await page.getByRole('button', { name: 'Ask operator' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    const log = page.getByRole('log', { name: 'Messages' })
    await log.getByText('every tool call was real').waitFor()
    // The address keeps the offered question only until it was sent.
    expect(new URL(page.url()).search).toBe('')
    // The artifact that the worker saved is shown in the conversation.
    await log.locator('details.artifact').getByText('first-look.md').first().waitFor()
    await log.locator('details.artifact').getByText('Processors:').waitFor()
    await picture('first-answer')
    expect(await breaches()).toEqual([])
    expect(faults).toEqual([])
    await context.close()
  })

  it('the first run in the browser leads by a key to a first answer, and says what is wrong with a wrong one', async () => {
    const { page, open, faults, context } = await openPage(browser, meshes[1]?.url ?? '', { width: 390 })
    await open('/')
    await page.getByRole('combobox', { name: 'Provider', exact: true }).selectOption('openai')
    await page.getByLabel(/^Address/).fill(provider.baseUrl)
    await page.getByLabel('Model', { exact: true }).fill('hello')
    await page.getByLabel('Key', { exact: true }).fill('sk-wrong-0123456789abcdef')
    await page.getByRole('button', { name: 'Check and save' }).click()
    // The address is not the provider's usual one, so the page requires the owner's proof.
    await giveProof(meshes[1] as MeshProcess, page)
    await page.getByRole('alert').getByText('Incorrect API key').waitFor()
    // The error is shown beside the field to be corrected, and not as a toast.
    expect(await page.locator('.toast').count()).toBe(0)
    await page.getByLabel('Key', { exact: true }).fill(rightKey)
    await page.getByRole('button', { name: 'Check and save' }).click()
    await page.getByText('openai/hello').waitFor()
    await page.getByRole('button', { name: 'Make starter' }).click()
    await page.getByText('worker-1, worker-2 and the operator').waitFor()
    await page.getByRole('button', { name: 'Ask operator' }).click()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('log', { name: 'Messages' }).getByText('Hello there').waitFor()
    expect(faults).toEqual([])
    await context.close()
  })
})
