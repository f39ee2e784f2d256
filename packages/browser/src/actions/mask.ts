import type { Frame } from 'playwright-core'
import type { PageElement } from '../tabs/page-element.ts'

/** Marks a field into which a secret was typed. */
export const secretMark = 'data-flotilla-secret'

/** The style for pictures: password and secret fields show an empty plain box. */
export const maskStyle = `input[type="password"], [${secretMark}] {
  -webkit-text-security: disc !important; color: transparent !important; text-shadow: none !important;
  background: #777 !important; caret-color: transparent !important;
}`

/** Whether an element's value must be hidden. Runs in the page. */
export function isMasked(node: PageElement, mark: string): boolean {
  return (node.tagName === 'INPUT' && node.type === 'password') || node.hasAttribute(mark)
}

/** The values of a frame's hidden fields, shadow roots included. The result is bounded, because the page is not. */
export async function maskedValues(frame: Frame): Promise<readonly string[]> {
  const found = await frame
    .locator(`input[type="password"], [${secretMark}]`)
    .evaluateAll((nodes) => nodes.slice(0, 200).map((node) => ('value' in node ? String(node.value) : '')))
    .catch(() => [])
  return found.filter((value) => value !== '')
}
