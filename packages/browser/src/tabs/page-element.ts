/**
 * The members of any element inside a page that this package uses. Elements are distinguished by tag, because each
 * frame has its own classes. Scripts for pages use this type instead of the DOM library, because the package itself
 * runs under Node.
 */
export interface PageElement {
  readonly tagName: string
  readonly type?: string
  readonly value?: string
  readonly innerText?: string
  readonly style: { setProperty(name: string, value: string, priority: string): void }
  hasAttribute(name: string): boolean
  getAttribute(name: string): string | null
  setAttribute(name: string, value: string): void
  focus(): void
  dispatchEvent(event: Event): boolean
}
