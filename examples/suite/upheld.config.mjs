/** @type {import("upheld").SuiteConfig} */
const config = { agent: { command: ["node", "{suite}/agent.mjs"] } };

export default config;
