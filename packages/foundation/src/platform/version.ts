/** The version of the whole product; a test compares it with package.json. */
export const productVersion = '0.1.0'
