import type { Captcha } from '@flotilla/protocol/browser-service-api'
import type { Page } from 'playwright-core'

/** Frames by which those who make them are known. Pure. */
export function captchaOfFrame(address: string): NonNullable<Captcha>['kind'] | null {
  if (!URL.canParse(address)) return null
  const { hostname, pathname, searchParams } = new URL(address)
  const of = (domain: string): boolean => hostname === domain || hostname.endsWith(`.${domain}`)
  if ((of('google.com') || of('recaptcha.net')) && /^\/recaptcha\/(?:api2|enterprise)\//.test(pathname)) {
    // One that asks nobody anything; what it shows in the end has another path.
    return searchParams.get('size') === 'invisible' ? null : 'recaptcha'
  }
  if (of('hcaptcha.com')) return searchParams.get('size') === 'invisible' ? null : 'hcaptcha'
  if (of('challenges.cloudflare.com')) return 'turnstile'
  return /captcha/i.test(`${hostname}${pathname}`) ? 'generic' : null
}

/** Pages that make their own: a picture or a field with that word in it. */
const ownMarks =
  'img[src*="captcha" i], img[alt*="captcha" i], input[name*="captcha" i], input[id*="captcha" i]'

/** Whether a page asks for a proof that a person is there. What it hides is none. */
export async function findCaptcha(page: Page): Promise<Captcha> {
  const host = hostOf(page.url())
  for (const frame of page.frames().slice(1)) {
    const kind = captchaOfFrame(frame.url())
    if (kind === null) continue
    const isShown = await frame
      .frameElement()
      .then((element) => element.isVisible())
      .catch(() => false)
    if (isShown) return { kind, host }
  }
  const shown = await page
    .locator(ownMarks)
    .filter({ visible: true })
    .count()
    .catch(() => 0)
  return shown > 0 ? { kind: 'generic', host } : null
}

export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname.slice(0, 255) : ''
}
