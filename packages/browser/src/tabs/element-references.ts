import type { ElementHandle, Page } from 'playwright-core'
import { ActionProblem } from '../actions/action-problem.ts'
import type { PageElement } from './page-element.ts'

/** References that the last snapshot gave out: good until the next one, or until its page went elsewhere. */
export interface ElementReferences {
  /** Forgets those before. */
  begin(page: Page): void
  /** Gives the next reference for what Playwright calls `inner`. */
  give(inner: string): string
  /** Rejects with `stale-reference`. */
  find(page: Page, ref: string): Promise<ElementHandle<PageElement>>
  /** The page went elsewhere. */
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
    `${ref} is not of the last snapshot of this tab, or its element is gone. Take a snapshot and use a reference of that.`,
  )
}
