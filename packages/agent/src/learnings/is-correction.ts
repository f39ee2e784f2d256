/**
 * How messages begin that correct someone. Each pattern ends with a whole word, or with the mark or space after it.
 * "No" counts before a punctuation mark or a word that contradicts, but not in "no problem" or "no, thanks".
 */
const beginnings: readonly string[] = [
  'no[,.;:!–-]+(?![,.;:!–-]| *(?:problem|worries|need|thanks|thank|rush|hurry))',
  "no +(?:that|this|it|i|you|not|the|don't|do +not)\\b",
  'nope\\b',
  'wrong\\b',
  "(?:that|this|it)(?:'s| +is| +was) +(?:wrong|not +(?:right|correct|true|what)|incorrect)\\b",
  'incorrect\\b',
  'not +(?:quite|what +i|like +that|that +one)\\b',
  'actually[, ](?! *(?:good|great|nice|thanks|thank|fine|perfect|that works))',
  'i +(?:meant|mean|said|asked +for|told +you)\\b',
  "i +(?:didn't|did +not) +(?:mean|say|ask)\\b",
  "you(?:'ve| +have)? +(?:misunderstood|misread|got +(?:it|that) +wrong|forgot|missed)\\b",
  "(?:please +)?(?:stop|don't|do +not|never) +\\p{L}+",
  'correction[: ]',
  // German, French, Spanish, Portuguese, Italian
  'nein[,.;:!–-]',
  'falsch\\b',
  '(?:das +)?(?:ist|war|stimmt) +(?:falsch|so +nicht|nicht)\\b',
  'ich +(?:meinte|sagte)\\b',
  'non[,.;:!–-]',
  "c'est +(?:faux|pas)\\b",
  'je +voulais +dire\\b',
  'eso +no\\b',
  'quise +decir\\b',
  'está +(?:mal|errado)\\b',
  'sbagliato\\b',
  'intendevo\\b',
]
const pattern = new RegExp(`^(?:${beginnings.join('|')})`, 'iu')
const readMaxChars = 200

/** Pure. Whether a message begins like a correction. */
export function isCorrection(message: string): boolean {
  const beginning = message
    .trimStart()
    .slice(0, readMaxChars)
    .replace(/[\u2018\u2019]/gu, "'")
    .replace(/\s+/gu, ' ')
  return pattern.test(beginning)
}
