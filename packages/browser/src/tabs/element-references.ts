import type { ElementHandle, Page } from 'playwright-core'
import { ActionProblem } from '../actions/action-problem.ts'
import type { PageElement } from './page-element.ts'

/** The element references of the last snapshot, valid until the next snapshot or until their page navigates. */
export interface ElementReferences {
  /** Starts a snapshot of the page and drops earlier references. */
  begin(page: Page): void
  /** Returns a new reference for `inner`, the reference of Playwright. */
  give(inner: string): string
  /** Finds the element. Rejects with `stale-reference`. */
  find(page: Page, ref: string): Promise<ElementHandle<PageElement>>
  /** Drops the references after the page navigated. */
  forget(page: Page): void
}

const findMaxMs = 2000

export function createElementReferences(): ElementReferences {
  let given: { readonly page: Page; readonly inner: Map<string, string> } | null = null
  return {
    begin(page) {
      given = { page, inner: new Map() }
    },
    give(inner) {
      const ref = `e${(given?.inner.size ?? 0) + 1}`
      given?.inner.set(ref, inner)
      return ref
    },
    async find(page, ref) {
      const inner = given?.page === page ? given.inner.get(ref) : undefined
      if (inner === undefined) throw stale(ref)
      const found = page.locator(`aria-ref=${inner}`)
      const handle = await found.elementHandle({ timeout: findMaxMs }).catch(() => null)
      if (handle === null) throw stale(ref)
      return handle as ElementHandle<PageElement>
    },
    forget(page) {
      if (given?.page === page) given = null
    },
  }
}

function stale(ref: string): ActionProblem {
  return new ActionProblem(
    'stale-reference',
    `${ref} is not of the last snapshot of this tab, or its element is gone. Take a new snapshot and use a reference from it.`,
  )
}
