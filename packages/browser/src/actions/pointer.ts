import type { Acts } from './action.ts'
import { findCaptcha } from './find-captcha.ts'
import { settle } from './settle.ts'

const scrollShare = 0.8

/** The actions of the pointer. */
export const pointer: Acts<'click' | 'click_xy' | 'hover' | 'scroll'> = {
  async click(scene, { ref, button = 'left', double = false }) {
    const element = await scene.find(ref)
    await element.click({ button, clickCount: double ? 2 : 1, timeout: scene.left() })
    await settle(scene)
    return { captcha: await findCaptcha(await scene.live.tabs.active()) }
  },

  async click_xy(scene, { x, y }) {
    await scene.page.mouse.click(x, y)
    await settle(scene)
    return {}
  },

  async hover({ find, left }, { ref }) {
    await (await find(ref)).hover({ timeout: left() })
    return {}
  },

  async scroll(scene, { direction, amount, ref }) {
    const { page, left } = scene
    const isUpright = direction === 'up' || direction === 'down'
    const size = await page.evaluate<{ width: number; height: number }>(
      '({ width: innerWidth, height: innerHeight })',
    )
    if (ref !== undefined) await (await scene.find(ref)).hover({ timeout: left() })
    else await page.mouse.move(size.width / 2, size.height / 2)
    const pixels = amount ?? Math.round((isUpright ? size.height : size.width) * scrollShare)
    const signed = direction === 'up' || direction === 'left' ? -pixels : pixels
    await page.mouse.wheel(isUpright ? 0 : signed, isUpright ? signed : 0)
    await settle(scene)
    return {}
  },
}
