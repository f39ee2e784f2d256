/** What is left over and nobody uses: found without being touched, and taken away when it is asked for. */

export { unusedCaches } from './unused-caches.ts'
export { unusedInHome } from './unused-in-home.ts'
export type { UnusedThing } from './unused-thing.ts'
