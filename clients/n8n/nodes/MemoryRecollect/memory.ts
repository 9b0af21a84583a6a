import { BaseChatHistory, BaseChatMemory, type Message } from '@n8n/ai-node-sdk';
import {
	RecollectError,
	type ContextOptions,
	type Recollect,
	type Session,
	type SessionNames,
	type StoredMessage,
} from '@recollect/client';
import { ContextBlockKind, MemoryMode, RecallScope, ThreadService } from '@recollect/client/v1';
import { asGiven, forModel, stored } from './messages';

/** What a model is given of the conversation. */
export interface Settings {
	mode: 'hybrid' | 'window' | 'working' | 'observational';
	/** The number of past interactions: questions with their answers. */
	contextWindowLength: number;
	/** The text that memory is searched for. Empty: the newest stored message of the user. */
	query: string;
	/** Whether other conversations of the user are searched too. */
	searchAll: boolean;
	topK: number;
	neighborsBefore: number;
	neighborsAfter: number;
	memoriesTopK: number;
	/** The tokens of the user's profile. 0: those of the policy. */
	profileTokens: number;
	/** The token budget of the whole context. 0: that of the policy. */
	maxTokens: number;
	observerTokens: number;
	reflectorTokens: number;
}

const BATCH = 256;

/** The stored messages of a conversation, all of them. */
export class RecollectChatHistory extends BaseChatHistory {
	readonly #client: Recollect;
	readonly #names: SessionNames;
	readonly #settings: Settings;
	readonly #memory: Session;
	#prepared = false;

	constructor(client: Recollect, names: SessionNames, settings: Settings) {
		super();
		this.#client = client;
		this.#names = names;
		this.#settings = settings;
		this.#memory = client.session(names);
	}

	async getMessages(): Promise<Message[]> {
		const messages: StoredMessage[] = [];
		for await (const message of this.#memory.path()) messages.push(message);
		await this.#memory.inlineFiles(messages);
		return messages.reverse().map(asGiven);
	}

	async addMessage(message: Message): Promise<void> {
		await this.addMessages([message]);
	}

	override async addMessages(messages: Message[]): Promise<void> {
		if (this.#settings.mode === 'observational') await this.#observe();
		for (let start = 0; start < messages.length; start += BATCH) {
			await this.#memory.append(messages.slice(start, start + BATCH).map(stored));
		}
	}

	async clear(): Promise<void> {
		try {
			await this.#memory.clear();
		} catch (error) {
			if (!(error instanceof RecollectError && error.reason === 'THREAD_NOT_FOUND')) throw error;
		}
	}

	/** Has the server observe the conversation: the mode of a single request does not. */
	async #observe(): Promise<void> {
		if (this.#prepared) return;
		const { app: appId, user, session: sessionKey } = this.#names;
		const userId = typeof user === 'string' ? user : '';
		const { observerTokens, reflectorTokens } = this.#settings;
		const policy = { mode: MemoryMode.OBSERVATIONAL, observerTokens, reflectorTokens };
		const threads = this.#client.service(ThreadService);
		const { thread, created } = await threads.resolveThread({ session: { appId, userId, sessionKey }, policy });
		const current = thread?.policy;
		const differs =
			current?.mode !== policy.mode ||
			current.observerTokens !== observerTokens ||
			current.reflectorTokens !== reflectorTokens;
		if (!created && differs) await threads.updateThread({ thread: { threadId: thread?.threadId, policy } });
		this.#prepared = true;
	}
}

/** What a model is given of a conversation. */
export class RecollectChatMemory extends BaseChatMemory {
	readonly chatHistory: RecollectChatHistory;
	readonly #memory: Session;
	readonly #settings: Settings;

	constructor(client: Recollect, names: SessionNames, settings: Settings) {
		super();
		this.chatHistory = new RecollectChatHistory(client, names, settings);
		this.#memory = client.session(names);
		this.#settings = settings;
	}

	async loadMessages(): Promise<Message[]> {
		const { response } = await this.#memory.context(undefined, contextOptions(this.#settings));
		const shown = response.blocks.filter(({ kind }) => kind !== ContextBlockKind.SYSTEM);
		const messages = shown.flatMap((block) => block.messages);
		await this.#memory.inlineFiles(messages);
		return forModel(messages);
	}

	async saveTurn(input: string, output: string): Promise<void> {
		await this.chatHistory.addMessages([
			{ role: 'user', content: [{ type: 'text', text: input }] },
			{ role: 'assistant', content: [{ type: 'text', text: output }] },
		]);
	}

	async clear(): Promise<void> {
		await this.chatHistory.clear();
	}
}

function contextOptions(settings: Settings): ContextOptions<'text'> {
	const { mode, query, maxTokens, topK, neighborsBefore, neighborsAfter, memoriesTopK, profileTokens } = settings;
	const messages = Math.min(settings.contextWindowLength * 2, 500);
	return {
		format: 'text',
		mode,
		// The default is the newest message of the user.
		query: query.slice(0, 8_192) || undefined,
		maxTokens: maxTokens > 0 ? maxTokens : undefined,
		request: {
			policy: {
				windowSize: Math.max(messages, 1),
				recentWindow: messages,
				topK,
				neighborsBefore,
				neighborsAfter,
				memoriesTopK,
				profileTokens: profileTokens > 0 ? profileTokens : undefined,
				scope: settings.searchAll ? RecallScope.USER : RecallScope.THREAD,
			},
		},
	};
}
