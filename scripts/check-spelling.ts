import { misspelledWords } from './spelling.ts'

/** A step of `npm run check`: prints each unknown word with a place that uses it, and fails if there is one. */
const unknown = misspelledWords()
for (const word of unknown) console.error(word)
if (unknown.length > 0) {
  console.error('\nCorrect the words above. Names belong in scripts/spelling/project-words.txt.')
  process.exitCode = 1
}
