import { browserLimits } from '@flotilla/protocol/browser-service-api'
import { ActionProblem } from './action-problem.ts'
import type { Acts } from './action.ts'
import { echoStyle, withoutEchoes } from './hide-echoes.ts'
import { maskStyle } from './mask.ts'

/** JPEG qualities, tried in order until the picture is small enough. */
const qualities = [75, 50, 25]
/** The height limit of a full-page picture; the rest of the page is cut off. */
const heightMaxPixels = 8000

export const picturing: Acts<'screenshot'> = {
  async screenshot({ page, live, left }, { full_page: isWhole = false }) {
    const size = await page.evaluate<{ width: number; height: number; whole: number }>(
      '({ width: innerWidth, height: innerHeight, whole: document.documentElement.scrollHeight })',
    )
    const height = isWhole ? Math.min(Math.max(size.height, size.whole), heightMaxPixels) : size.height
    const part = isWhole ? { fullPage: true, clip: { x: 0, y: 0, width: size.width, height } } : {}
    for (const quality of qualities) {
      const image = await withoutEchoes(page, live.secrets, () =>
        page.screenshot({
          type: 'jpeg',
          quality,
          style: maskStyle + echoStyle,
          animations: 'disabled',
          timeout: left(),
          ...part,
        }),
      )
      const measured = jpegSize(image)
      if (image.length <= browserLimits.screenshotMaxBytes && measured !== null)
        return { image_base64: image.toString('base64'), mime_type: 'image/jpeg', ...measured }
    }
    throw new ActionProblem('too-large', 'The picture is too large. Take one without full_page.')
  },
}

/** Reads the size from a JPEG's frame header; null if it has none. Pure. */
export function jpegSize(bytes: Buffer): { width: number; height: number } | null {
  let at = 2
  while (at + 9 < bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}
