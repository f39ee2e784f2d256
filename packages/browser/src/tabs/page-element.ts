/**
 * What is asked of an element inside a page, where it may be any: told apart by its tag, since a page in a frame has classes
 * of its own. Files that run there are typed by this and not by a library for all of this package, which runs under Node.
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
