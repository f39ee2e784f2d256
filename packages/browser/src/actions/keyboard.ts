import type { ElementHandle } from 'playwright-core'
import type { PageElement } from '../tabs/page-element.ts'
import { ActionProblem } from './action-problem.ts'
import type { ActionScene, Acts } from './action.ts'
import { settle } from './settle.ts'
import { typeSecret } from './type-secret.ts'

/** Longer texts are inserted at once, because each simulated key takes some milliseconds. */
const keyedMaxChars = 300

/** Actions that enter data into fields. */
export const keyboard: Acts<'type' | 'press_key' | 'fill_form' | 'select'> = {
  async type(scene, { ref, text, clear = false, secret }) {
    const element = await scene.find(ref)
    if (secret !== undefined) await typeSecret(scene, element, secret)
    else if (clear) await element.fill(text, { timeout: scene.left() })
    else await append(scene, element, text)
    return {}
  },

  async press_key(scene, { key }) {
    await scene.page.keyboard.press(key)
    await settle(scene)
    return {}
  },

  async fill_form(scene, { fields }) {
    for (const { ref, value, secret } of fields) {
      const element = await scene.find(ref)
      if (secret === undefined) await fill(scene, element, value)
      else await typeSecret(scene, element, secret)
    }
    return {}
  },

  async select({ find, left }, { ref, values }) {
    const selected = await (await find(ref)).selectOption([...values], { timeout: left() })
    return { selected }
  },
}

async function append(scene: ActionScene, element: ElementHandle<PageElement>, text: string): Promise<void> {
  await element.focus()
  await scene.page.keyboard.press('End')
  if (text.length <= keyedMaxChars) await scene.page.keyboard.type(text)
  else await scene.page.keyboard.insertText(text)
}

async function fill(scene: ActionScene, element: ElementHandle<PageElement>, value: string): Promise<void> {
  const timeout = scene.left()
  const kind = await element.evaluate(({ tagName, type }) =>
    tagName === 'SELECT' ? 'select' : type === 'checkbox' || type === 'radio' ? 'check' : 'text',
  )
  if (kind === 'select') await element.selectOption(value, { timeout })
  else if (kind === 'text') await element.fill(value, { timeout })
  else if (value === 'true' || value === 'false') await element.setChecked(value === 'true', { timeout })
  else throw new ActionProblem('not-possible', 'A checkbox must be set to true or false.')
}
