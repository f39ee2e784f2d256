/** One version for the whole product; package.json says the same, and a test holds them together. */
export const productVersion = '0.1.0'
